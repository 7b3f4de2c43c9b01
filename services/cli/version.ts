/** The version of this command line. */
export const CLIENT_VERSION = '0.1.0'
