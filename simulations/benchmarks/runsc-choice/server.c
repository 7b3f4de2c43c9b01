/* A tiny static epoll server: answers "count: N", optionally holds argv[1] MiB of random memory and touches all of it. */
#include <fcntl.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

static volatile char *ballast;
static long mib;
static int count;

static int answer(int fd) {
  char in[4097], body[64], out[256];
  int n = read(fd, in, 4096);
  if (n <= 0) return 0;
  in[n] = 0;
  for (long i = 0; i < mib; i++) ballast[i << 20]++;
  int last = strstr(in, "onnection: close") != NULL;
  int length = sprintf(body, "count: %d\n", ++count);
  int size = sprintf(out, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: %s\r\n\r\n%s", length,
                     last ? "close" : "keep-alive", body);
  if (write(fd, out, size) != size) return 0;
  return !last;
}

int main(int argc, char **argv) {
  mib = argc > 1 ? atol(argv[1]) : 0;
  if (mib) {
    ballast = malloc(mib << 20);
    int random = open("/dev/urandom", O_RDONLY);
    for (long i = 0; i < mib; i++)
      if (read(random, (char *)ballast + (i << 20), 1 << 20) != 1 << 20) return 1;
    close(random);
  }
  int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0), set = epoll_create1(0);
  struct sockaddr_in any = {.sin_family = AF_INET, .sin_port = htons(8080)};
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  if (bind(listener, (void *)&any, sizeof any) || listen(listener, 128)) return 2;
  struct epoll_event wanted = {.events = EPOLLIN, .data.fd = listener}, ready[16];
  epoll_ctl(set, EPOLL_CTL_ADD, listener, &wanted);
  for (;;) {
    int n = epoll_wait(set, ready, 16, -1);
    for (int i = 0; i < n; i++) {
      int fd = ready[i].data.fd;
      if (fd == listener) {
        wanted.data.fd = accept(listener, NULL, NULL);
        epoll_ctl(set, EPOLL_CTL_ADD, wanted.data.fd, &wanted);
      } else if (!answer(fd)) {
        epoll_ctl(set, EPOLL_CTL_DEL, fd, NULL);
        close(fd);
      }
    }
  }
}
