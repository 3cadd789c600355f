#define _GNU_SOURCE 1
#include "CLinux.h"
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

int clinux_eventfd(unsigned int value) { return eventfd(value, EFD_CLOEXEC | EFD_NONBLOCK); }

int clinux_memfd(const char *name) { return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); }

int clinux_accept(int socket) { return accept4(socket, NULL, NULL, SOCK_CLOEXEC); }

int clinux_terminal_columns(int terminal) {
    struct winsize size;
    return ioctl(terminal, TIOCGWINSZ, &size) == 0 ? size.ws_col : -1;
}
