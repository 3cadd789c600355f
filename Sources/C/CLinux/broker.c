#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

int clinux_keep_capability_ptrace(void) {
    for (int number = 0; number <= CAP_LAST_CAP || prctl(PR_CAPBSET_READ, number) >= 0; number++) {
        if (number == CAP_SYS_PTRACE || prctl(PR_CAPBSET_READ, number) != 1) continue;
        if (prctl(PR_CAPBSET_DROP, number, 0L, 0L, 0L) != 0) return -1;
    }
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0L, 0L, 0L);
    struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3, .pid = 0};
    struct __user_cap_data_struct data[2] = {{0}, {0}};
    data[0].effective = data[0].permitted = 1u << CAP_SYS_PTRACE;
    return (int)syscall(SYS_capset, &head, data);
}

int clinux_look_at(int descriptor, clinux_file *file) {
    struct statx status;
    const unsigned wanted = STATX_BASIC_STATS | STATX_MNT_ID;
    if (statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, wanted, &status) != 0) return -1;
    if ((status.stx_mask & STATX_MNT_ID) == 0) {
        errno = ENOSYS;
        return -1;
    }
    *file = (clinux_file){
        .device = makedev(status.stx_dev_major, status.stx_dev_minor),
        .inode = status.stx_ino,
        .owner = status.stx_uid,
        .mode = status.stx_mode,
        .links = status.stx_nlink,
        .mount = status.stx_mnt_id,
    };
    return 0;
}

int clinux_open_below(int root, const char *path) {
    const struct open_how how = {
        .flags = O_PATH | O_NOFOLLOW | O_CLOEXEC,
        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_CACHED,
    };
    return (int)syscall(SYS_openat2, root, path, &how, sizeof how);
}

intptr_t clinux_receive_packet(int socket, void *buffer, size_t count, int *descriptor) {
    struct iovec part = {.iov_base = buffer, .iov_len = count};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    struct msghdr message = {
        // Not sizeof control: its padding has room for a second descriptor, which would never be closed.
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_LEN(sizeof(int))};
    *descriptor = -1;
    ssize_t received = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (received < 0) return received;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_RIGHTS &&
        head->cmsg_len == CMSG_LEN(sizeof(int))) {
        memcpy(descriptor, CMSG_DATA(head), sizeof(int));
    }
    if ((message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0) {
        if (*descriptor >= 0) close(*descriptor);
        *descriptor = -1;
        errno = EMSGSIZE;
        return -1;
    }
    return received;
}

intptr_t clinux_send_packet(int socket, const void *buffer, size_t count, int descriptor) {
    struct iovec part = {.iov_base = (void *)buffer, .iov_len = count};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(int))];
    } control;
    memset(&control, 0, sizeof control);
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (descriptor >= 0) {
        message.msg_control = &control;
        message.msg_controllen = sizeof control;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
    }
    return sendmsg(socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}
