#define _GNU_SOURCE 1
#include "CLinux.h"
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>

// Linux 6.3; absent from Debian 12's headers.
#ifndef PR_SET_MDWE
#define PR_SET_MDWE 65
#define PR_MDWE_REFUSE_EXEC_GAIN 1
#endif

int clinux_process_forbid_dump(void) { return prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L); }

int clinux_process_forbid_core(void) {
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    return setrlimit(RLIMIT_CORE, &none);
}

int clinux_process_refuse_exec_gain(void) {
    return prctl(PR_SET_MDWE, (unsigned long)PR_MDWE_REFUSE_EXEC_GAIN, 0L, 0L, 0L);
}

void clinux_process_begin_signals(const int *ignored, size_t count) {
    for (int number = 1; number < NSIG; number++) (void)signal(number, SIG_DFL);
    for (size_t index = 0; index < count; index++) (void)signal(ignored[index], SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

void clinux_process_allow_descriptors(uint64_t most) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
    limit.rlim_cur = limit.rlim_max < most ? limit.rlim_max : most;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

int clinux_process_no_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L); }

bool clinux_process_has_no_new_privileges(void) { return prctl(PR_GET_NO_NEW_PRIVS, 0L, 0L, 0L, 0L) == 1; }
