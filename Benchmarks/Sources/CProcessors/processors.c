#define _GNU_SOURCE 1
#include "CProcessors.h"
#include <sched.h>

// The affinity at the start of the process, before any change.
static cpu_set_t given;

__attribute__((constructor)) static void remember(void) { sched_getaffinity(0, sizeof given, &given); }

int processors_set(int32_t thread, bool last_alone) {
    cpu_set_t chosen = given;
    for (int processor = 0; last_alone && CPU_COUNT(&chosen) > 1; processor++) CPU_CLR(processor, &chosen);
    return sched_setaffinity(thread, sizeof chosen, &chosen);
}
