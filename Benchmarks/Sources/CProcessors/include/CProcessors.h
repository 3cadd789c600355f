// Where threads may run: glibc shows sched_setaffinity(2) under _GNU_SOURCE only, which Swift does not define.
#pragma once
#include <stdbool.h>
#include <stdint.h>

/// Lets a thread run on the last of the processors that this process was given, or on all of them; threads that it
/// starts follow it. 0, or -1 and `errno`.
int processors_set(int32_t thread, bool last_alone);
