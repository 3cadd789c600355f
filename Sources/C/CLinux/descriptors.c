#define _GNU_SOURCE 1
#include "CLinux.h"
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

int clinux_eventfd(unsigned int value) { return eventfd(value, EFD_CLOEXEC | EFD_NONBLOCK); }

int clinux_memfd(const char *name) { return memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING); }

int clinux_keep_standard_descriptors(void) {
    if (close_range(3, ~0U, 0) != 0) return -1;
    // In ascending order: open(2) returns the lowest free number, which is the missing one.
    for (int descriptor = 0; descriptor <= 2; descriptor++) {
        if (fcntl(descriptor, F_GETFD) < 0 && open("/dev/null", O_RDWR) != descriptor) return -1;
    }
    return 0;
}

int clinux_accept(int socket) { return accept4(socket, NULL, NULL, SOCK_CLOEXEC); }

int64_t clinux_length(int directory, const char *name) {
    struct statx status;
    if (statx(directory, name, AT_SYMLINK_NOFOLLOW, STATX_SIZE, &status) != 0) return -1;
    return (int64_t)status.stx_size;
}

bool clinux_is_in_memory(const char *directory) {
    struct statfs status;
    if (statfs(directory, &status) != 0) return false;
    return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
}
