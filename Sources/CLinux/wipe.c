#define _GNU_SOURCE 1
#include <unistd.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <fcntl.h>
#include "CLinux.h"
#include <string.h>

void clinux_wipe(void *buffer, size_t length) {
    if (length > 0) explicit_bzero(buffer, length);
}
