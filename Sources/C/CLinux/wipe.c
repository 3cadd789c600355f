#define _GNU_SOURCE 1
#include "CLinux.h"
#include <string.h>

void clinux_wipe(void *buffer, size_t length) {
    if (length > 0) explicit_bzero(buffer, length);
}

void clinux_copy_secret(void *to, const void *from, size_t length) {
    if (length == 0) return;
    memmove(to, from, length);
    clinux_wipe_vector_registers();
}
