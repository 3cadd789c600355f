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

// Runs between vfork(2) and execve(2), in the memory of the process: system calls and locals only.
static void become(
    const char *path, char *const argv[], char *const envp[], const int given[3], bool owns_terminal,
    const sigset_t *mask
) {
    if (owns_terminal && setsid() < 0) return;
    // Moved out of the way first: any of them may be one of the numbers wanted.
    int moved[3];
    for (int index = 0; index < 3; index++) {
        moved[index] = given[index] < 0 ? -1 : fcntl(given[index], F_DUPFD_CLOEXEC, 3);
        if (given[index] >= 0 && moved[index] < 0) return;
    }
    for (int index = 0; index < 3; index++) {
        if (moved[index] >= 0 && dup2(moved[index], index) < 0) return;
    }
    if (owns_terminal && ioctl(STDIN_FILENO, TIOCSCTTY, 0) != 0) return;
    // The handlers of this process must not run in the child, and execve(2) resets them only later.
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) {
        struct sigaction action;
        if (sigaction(number, NULL, &action) != 0 || action.sa_handler == SIG_IGN) continue;
        (void)sigaction(number, &standard, NULL);
    }
    sigprocmask(SIG_SETMASK, mask, NULL);
    execve(path, argv, envp);
}

int32_t clinux_start(
    const char *path, char *const *argv, char *const *envp, int stdin_fd, int stdout_fd, int stderr_fd,
    bool owns_terminal
) {
    sigset_t all, mask;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &mask);
    const int given[3] = {stdin_fd, stdout_fd, stderr_fd};
    volatile int reason = 0;
    const pid_t child = vfork();
    if (child == 0) {
        become(path, argv, envp, given, owns_terminal, holds ? &mask_before : &mask);
        reason = errno;
        _exit(127);
    }
    if (child < 0) reason = errno;
    pthread_sigmask(SIG_SETMASK, &mask, NULL);
    if (reason == 0) return child;
    siginfo_t information;
    while (child > 0 && waitid(P_PID, (id_t)child, &information, WEXITED) < 0 && errno == EINTR) {}
    errno = reason;
    return -1;
}
