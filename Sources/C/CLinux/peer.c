#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

// Linux 6.5; absent from Debian 12's headers.
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

int clinux_peer_credentials(int socket, clinux_peer *peer) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    // For a socket that never connected the kernel reports pid 0 and uid -1.
    if (length != sizeof credentials || credentials.pid == 0 || credentials.uid == (uid_t)-1) {
        errno = ENOTCONN;
        return -1;
    }
    *peer = (clinux_peer){.pid = credentials.pid, .uid = credentials.uid, .gid = credentials.gid};
    return 0;
}

int clinux_peer_uid(int socket, uint32_t *uid) {
    struct ucred credentials;
    socklen_t length = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) != 0) return -1;
    if (length != sizeof credentials || credentials.uid == (uid_t)-1) {
        errno = ENOTCONN;
        return -1;
    }
    *uid = credentials.uid;
    return 0;
}

int clinux_peer_pidfd(int socket) {
    int pidfd = -1;
    socklen_t length = sizeof pidfd;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &length) != 0) return -1;
    return pidfd;
}

int clinux_pidfd_open(int32_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int clinux_pidfd_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

int clinux_pidfd_descriptor(int pidfd, int descriptor) {
    return (int)syscall(SYS_pidfd_getfd, pidfd, descriptor, 0);
}

int clinux_pass_credentials(int socket) {
    int one = 1;
    return setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &one, sizeof one);
}

intptr_t clinux_receive(int socket, void *buffer, size_t count, int flags, int32_t *sender) {
    struct iovec part = {.iov_base = buffer, .iov_len = count};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    *sender = 0;
    ssize_t received = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    if (received <= 0) return received;
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    if (head != NULL && head->cmsg_level == SOL_SOCKET && head->cmsg_type == SCM_CREDENTIALS &&
        head->cmsg_len == CMSG_LEN(sizeof(struct ucred))) {
        struct ucred credentials;
        memcpy(&credentials, CMSG_DATA(head), sizeof credentials);
        *sender = credentials.pid;
    }
    return received;
}
