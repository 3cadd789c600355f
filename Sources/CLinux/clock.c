#define _GNU_SOURCE 1
#include "CLinux.h"
#include <time.h>

uint64_t clinux_boottime_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_BOOTTIME, &now);  // cannot fail: the clock exists since Linux 2.6.39
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
