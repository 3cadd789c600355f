#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
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

int clinux_identity(int directory, const char *name, uint64_t *identity) {
    struct statx status;
    if (statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, STATX_INO, &status) != 0) return -1;
    identity[0] = (uint64_t)status.stx_dev_major << 32 | status.stx_dev_minor;
    identity[1] = status.stx_ino;
    return 0;
}

int clinux_rename_to_free(int directory, const char *from, int new_directory, const char *to) {
    if (renameat2(directory, from, new_directory, to, RENAME_NOREPLACE) == 0) return 0;
    // EINVAL: the file system does not know the flag; a link is exclusive too.
    if (errno != EINVAL && errno != ENOSYS) return -1;
    if (linkat(directory, from, new_directory, to, 0) != 0) return -1;
    if (unlinkat(directory, from, 0) == 0) return 0;
    int error = errno;
    unlinkat(new_directory, to, 0);
    errno = error;
    return -1;
}

bool clinux_is_in_memory(const char *directory) {
    struct statfs status;
    if (statfs(directory, &status) != 0) return false;
    return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
}
