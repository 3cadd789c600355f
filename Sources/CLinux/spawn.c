#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// Where the child keeps the pipe that reports its failure; close_range(2) starts above it.
enum { REPORT_FD = 3, FIRST_CLOSED_FD = 4 };

// Everything below runs between fork(2) and execve(2): async-signal-safe calls only, no memory is allocated.

static int reset_signals(void) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) {
        // SIGKILL, SIGSTOP and the two that glibc keeps for itself refuse: nothing to reset there.
        (void)sigaction(number, &standard, NULL);
    }
    sigset_t none;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL);
}

// Moves the four descriptors out of the way first: any of them may already be one of the numbers wanted.
static int place_descriptors(const int given[3], int *report) {
    int moved[3];
    for (int index = 0; index < 3; index++) {
        moved[index] = given[index] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : given[index];
        if (moved[index] < 0) return -1;
        moved[index] = fcntl(moved[index], F_DUPFD_CLOEXEC, FIRST_CLOSED_FD);
        if (moved[index] < 0) return -1;
    }
    if (*report != REPORT_FD && dup3(*report, REPORT_FD, O_CLOEXEC) < 0) return -1;
    *report = REPORT_FD;
    for (int index = 0; index < 3; index++) {
        if (dup2(moved[index], index) < 0) return -1;
    }
    return close_range(FIRST_CLOSED_FD, ~0U, 0);
}

static int become(
    const char *path, char *const argv[], char *const envp[], const int given[3], int *report, pid_t parent
) {
    if (setsid() < 0) return -1;
    if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0L, 0L, 0L) != 0) return -1;
    if (getppid() != parent) {  // the parent died before the line above took effect
        errno = ESRCH;
        return -1;
    }
    if (place_descriptors(given, report) != 0) return -1;
    if (reset_signals() != 0) return -1;
    return execve(path, argv, envp);
}

int32_t clinux_spawn(
    const char *path, char *const *argv, char *const *envp, int stdin_fd, int stdout_fd, int stderr_fd
) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) return -1;
    // Blocked until the child has default handlers: ours must not run in it.
    sigset_t all, previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);

    const int given[3] = {stdin_fd, stdout_fd, stderr_fd};
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        // Kept above the numbers that are about to be replaced.
        int descriptor = fcntl(report[1], F_DUPFD_CLOEXEC, REPORT_FD);
        if (descriptor < 0) _exit(127);
        (void)become(path, argv, envp, given, &descriptor, parent);
        int reason = errno;
        (void)!write(descriptor, &reason, sizeof reason);
        _exit(127);
    }
    int reason = errno;
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    close(report[1]);
    if (child > 0) {
        ssize_t count;
        do {
            count = read(report[0], &reason, sizeof reason);
        } while (count < 0 && errno == EINTR);
        close(report[0]);
        if (count != sizeof reason) return child;  // the pipe closed itself: execve(2) went through
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    } else {
        close(report[0]);
    }
    errno = reason;
    return -1;
}
