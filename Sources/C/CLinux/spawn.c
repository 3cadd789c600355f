#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// The lowest descriptor that the helper must not inherit.
enum { FIRST_CLOSED_FD = 3 };

// The child runs between vfork(2) and execve(2), in the memory of this process and on the stack of the waiting
// thread: system calls and locals only.

static int reset_signals(void) {
    struct sigaction standard = {.sa_handler = SIG_DFL};
    for (int number = 1; number < NSIG; number++) {
        // SIGKILL, SIGSTOP and glibc's two internal signals cannot be set: nothing to reset there.
        (void)sigaction(number, &standard, NULL);
    }
    sigset_t none;
    sigemptyset(&none);
    return sigprocmask(SIG_SETMASK, &none, NULL);
}

// Duplicates the three descriptors first: any of them may already be one of the target numbers.
static int place_descriptors(const int given[3]) {
    int moved[3];
    for (int index = 0; index < 3; index++) {
        moved[index] = given[index] < 0 ? open("/dev/null", O_RDWR | O_CLOEXEC) : given[index];
        if (moved[index] < 0) return -1;
        moved[index] = fcntl(moved[index], F_DUPFD_CLOEXEC, FIRST_CLOSED_FD);
        if (moved[index] < 0) return -1;
    }
    for (int index = 0; index < 3; index++) {
        if (dup2(moved[index], index) < 0) return -1;
    }
    return close_range(FIRST_CLOSED_FD, ~0U, 0);
}

// Permanently drops the group of a set-gid program. A raw system call, because glibc's wrapper would apply it to all
// threads of the process. Must precede `PR_SET_PDEATHSIG`, which the kernel clears when credentials change.
static int drop_set_group(void) {
    gid_t real, effective, saved;
    if (syscall(SYS_getresgid, &real, &effective, &saved) != 0) return -1;
    if (real == effective && real == saved) return 0;
    return (int)syscall(SYS_setresgid, real, real, real);
}

static void become(
    const char *path, char *const argv[], char *const envp[], const int given[3], pid_t parent
) {
    if (setsid() < 0) return;
    if (drop_set_group() != 0) return;
    if (prctl(PR_SET_PDEATHSIG, (unsigned long)SIGKILL, 0L, 0L, 0L) != 0) return;
    if (getppid() != parent) {  // the parent died before the line above took effect
        errno = ESRCH;
        return;
    }
    if (place_descriptors(given) != 0) return;
    if (reset_signals() != 0) return;
    execve(path, argv, envp);
}

int32_t clinux_spawn(
    const char *path, char *const *argv, char *const *envp, int stdin_fd, int stdout_fd, int stderr_fd
) {
    // Signals stay blocked until the child has default handlers: this process's handlers must not run in it.
    sigset_t all, previous;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &previous);

    const int given[3] = {stdin_fd, stdout_fd, stderr_fd};
    const pid_t parent = getpid();
    // The child writes it in this process's memory before vfork(2) returns in the parent.
    volatile int reason = 0;
    const pid_t child = vfork();
    if (child == 0) {
        become(path, argv, envp, given, parent);
        reason = errno;
        _exit(127);
    }
    if (child < 0) reason = errno;
    pthread_sigmask(SIG_SETMASK, &previous, NULL);
    if (reason == 0) return child;
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    errno = reason;
    return -1;
}
