#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

// Waits for the daemon's one-byte report and exits the launching process with that status.
static _Noreturn void wait_for_report(int report, pid_t child) {
    unsigned char status = 1;
    ssize_t count;
    do {
        count = read(report, &status, 1);
    } while (count < 0 && errno == EINTR);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {}
    if (count != 1) {
        static const char text[] = "error: the daemon ended before it was ready\n"
                                   "hint: start it with --foreground\n";
        (void)!write(STDERR_FILENO, text, sizeof text - 1);
        _exit(1);
    }
    _exit(status);
}

int clinux_daemonize(void) {
    int report[2];
    if (pipe2(report, O_CLOEXEC) != 0) return -1;
    pid_t child = fork();
    if (child < 0) {
        int reason = errno;
        close(report[0]);
        close(report[1]);
        errno = reason;
        return -1;
    }
    if (child > 0) {
        close(report[1]);
        wait_for_report(report[0], child);
    }
    close(report[0]);
    // A new session, then a second fork: a process that is no session leader cannot acquire a controlling terminal.
    if (setsid() < 0) _exit(1);
    child = fork();
    if (child < 0) _exit(1);
    if (child > 0) _exit(0);
    if (chdir("/") != 0) _exit(1);
    return report[1];
}

int clinux_daemon_report(int report, unsigned char status) {
    if (status == 0) {
        int null = open("/dev/null", O_RDWR | O_CLOEXEC);
        if (null < 0) return -1;
        for (int descriptor = 0; descriptor <= 2; descriptor++) {
            if (dup2(null, descriptor) < 0) return -1;
        }
        if (null > 2) close(null);
    }
    ssize_t count;
    do {
        count = write(report, &status, 1);
    } while (count < 0 && errno == EINTR);
    close(report);
    return count == 1 ? 0 : -1;
}

int clinux_clear_environment(void) { return clearenv(); }
