#define _GNU_SOURCE 1
#include "CLinux.h"
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

int clinux_process_no_new_privileges(void) { return prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L); }
