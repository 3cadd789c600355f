#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

static sigset_t mask_before;
static bool holds = false;

int clinux_hold_signals(const int *numbers, size_t count) {
    sigset_t held;
    sigemptyset(&held);
    for (size_t index = 0; index < count; index++) sigaddset(&held, numbers[index]);
    if (pthread_sigmask(SIG_BLOCK, &held, &mask_before) != 0) return -1;
    holds = true;
    return signalfd(-1, &held, SFD_CLOEXEC | SFD_NONBLOCK);
}

int clinux_next_signal(int descriptor, bool *from_terminal) {
    struct signalfd_siginfo information;
    if (read(descriptor, &information, sizeof information) != (ssize_t)sizeof information) return 0;
    *from_terminal = information.ssi_code == SI_KERNEL;
    return (int)information.ssi_signo;
}

void clinux_release_signals(int descriptor) {
    bool from_terminal;
    while (clinux_next_signal(descriptor, &from_terminal) != 0) {}
    close(descriptor);
    if (holds) pthread_sigmask(SIG_SETMASK, &mask_before, NULL);
    holds = false;
}

// The following functions run between vfork(2) and execve(2), in the memory of the process: system calls and locals
// only.

static void reset_signals(const sigset_t *mask) {
    // The handlers of this process must not run in the child, and execve(2) resets them only later.
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) continue;
        (void)sigaction(number, &standard, NULL);
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
}

static void become(
    const char *path, char *const argv[], char *const envp[], const int given[3], const sigset_t *mask
) {
    // Duplicated first: any of them may already be one of the target numbers.
    int moved[3];
    for (int index = 0; index < 3; index++) {
        moved[index] = given[index] < 0 ? -1 : fcntl(given[index], F_DUPFD_CLOEXEC, 3);
        if (given[index] >= 0 && moved[index] < 0) return;
    }
    for (int index = 0; index < 3; index++) {
        if (moved[index] >= 0 && dup2(moved[index], index) < 0) return;
    }
    reset_signals(mask);
    execve(path, argv, envp);
}

static void reap(pid_t child) {
    siginfo_t information;
    while (child > 0 && waitid(P_PID, (id_t)child, &information, WEXITED) < 0 && errno == EINTR) {}
}

// Becomes the leader of a session with a terminal and starts the program as its only child; returns with `errno` set.
static void lead(
    const char *path, char *const argv[], char *const envp[], const clinux_session *session,
    char *const leader_argv[], const sigset_t *mask, volatile int *program
) {
    if (setsid() < 0 || ioctl(session->terminal, TIOCSCTTY, 0) != 0) return;
    const int streams[3] = {session->terminal, session->terminal, session->errors};
    volatile int reason = 0;
    const pid_t child = vfork();
    if (child == 0) {
        // Before execve(2), while all signals are still blocked: otherwise SIGTTOU would stop this call.
        if (setpgid(0, 0) == 0 && tcsetpgrp(session->terminal, getpid()) == 0) {
            become(path, argv, envp, streams, mask);
        }
        reason = errno;
        _exit(127);
    }
    if (child < 0) return;
    *program = child;
    if (reason == 0) {
        const int own[3] = {session->terminal, session->report, session->terminal};
        // The leader closes every other descriptor: they belong to the program.
        if (dup2(own[0], 0) == 0 && dup2(own[1], 1) == 1 && dup2(own[2], 2) == 2 &&
            close_range(3, ~0U, 0) == 0) {
            reset_signals(mask);
            execve("/proc/self/exe", leader_argv, environ);
        }
        reason = errno;
        kill(child, SIGKILL);
    }
    reap(child);
    errno = reason;
}

int32_t clinux_start(
    const char *path, char *const *argv, char *const *envp, int stdin_fd, int stdout_fd, int stderr_fd
) {
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    const int given[3] = {stdin_fd, stdout_fd, stderr_fd};
    volatile int reason = 0;
    const pid_t child = vfork();
    if (child == 0) {
        become(path, argv, envp, given, holds ? &mask_before : &mask);
        reason = errno;
        _exit(127);
    }
    if (child < 0) reason = errno;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (reason == 0) return child;
    reap(child);
    errno = reason;
    return -1;
}

int32_t clinux_start_session(
    const char *path, char *const *argv, char *const *envp, const clinux_session *session,
    char *const *leader_argv
) {
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    volatile int reason = 0, program = -1;
    const pid_t leader = vfork();
    if (leader == 0) {
        lead(path, argv, envp, session, leader_argv, holds ? &mask_before : &mask, &program);
        reason = errno;
        _exit(127);
    }
    if (leader < 0) reason = errno;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (reason == 0) return program;
    reap(leader);
    errno = reason;
    return -1;
}
