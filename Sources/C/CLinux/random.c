#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <sys/random.h>

int clinux_random(void *buffer, size_t length) {
    unsigned char *next = buffer;
    while (length > 0) {
        ssize_t count = getrandom(next, length, 0);
        if (count < 0) {
            if (errno == EINTR) continue;
            return -1;
        }
        next += count;
        length -= (size_t)count;
    }
    return 0;
}
