#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

// Opens the terminal anew: the owner of an open file description is set only once, and the caller's has its own use.
static int reopen(int terminal) {
    char path[32];
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", terminal);
    return open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
}

int clinux_terminal_foreground(int terminal, int32_t *group) {
    const int own = reopen(terminal);
    if (own < 0) return -1;
    // With O_ASYNC the kernel makes the terminal's foreground group the owner of the open file description, or this
    // process for a terminal of no session (`__tty_fasync`). SIGURG, which programs ignore by default, is what the
    // group would get for input that arrives before the next call.
    struct f_owner_ex owner = {0};
    const int flags = fcntl(own, F_GETFL);
    int failed = flags < 0 || fcntl(own, F_SETSIG, SIGURG) != 0 || fcntl(own, F_SETFL, flags | O_ASYNC) != 0;
    if (!failed) {
        failed = fcntl(own, F_GETOWN_EX, &owner) != 0;
        (void)fcntl(own, F_SETFL, flags);
    }
    const int reason = errno;
    close(own);
    errno = reason;
    if (failed) return -1;
    if (owner.type != F_OWNER_PGRP) {
        *group = 0;
    } else {
        *group = owner.pid > 0 ? owner.pid : -1;
    }
    return 0;
}

int clinux_terminal_watch_keys(int terminal) {
    sigset_t input;
    sigemptyset(&input);
    sigaddset(&input, SIGIO);
    if (pthread_sigmask(SIG_BLOCK, &input, NULL) != 0) return -1;
    const int keys = signalfd(-1, &input, SFD_CLOEXEC | SFD_NONBLOCK);
    if (keys < 0) return -1;
    const struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = gettid()};
    const int flags = fcntl(terminal, F_GETFL);
    if (flags < 0 || fcntl(terminal, F_SETOWN_EX, &owner) != 0 || fcntl(terminal, F_SETFL, flags | O_ASYNC) != 0) {
        const int reason = errno;
        close(keys);
        errno = reason;
        return -1;
    }
    return keys;
}

bool clinux_terminal_had_keys(int keys) {
    struct signalfd_siginfo signal;
    bool had = false;
    while (read(keys, &signal, sizeof signal) == (ssize_t)sizeof signal) had = true;
    return had;
}

void clinux_terminal_ignore_keys(int terminal, int keys) {
    const int flags = fcntl(terminal, F_GETFL);
    if (flags >= 0) (void)fcntl(terminal, F_SETFL, flags & ~O_ASYNC);
    (void)clinux_terminal_had_keys(keys);
    close(keys);
}
