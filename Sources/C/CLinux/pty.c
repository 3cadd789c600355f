#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

int clinux_openpty(int *primary, char *name, size_t length) {
    int descriptor = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (descriptor < 0) return -1;
    int reason = 0;
    if (grantpt(descriptor) != 0 || unlockpt(descriptor) != 0) {
        reason = errno;
    } else {
        reason = ptsname_r(descriptor, name, length);  // returns the error itself
    }
    if (reason != 0) {
        close(descriptor);
        errno = reason;
        return -1;
    }
    *primary = descriptor;
    return 0;
}
