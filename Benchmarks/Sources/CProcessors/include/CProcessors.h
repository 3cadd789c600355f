// CPU affinity of threads: glibc declares sched_setaffinity(2) under _GNU_SOURCE only, which Swift does not define.
#pragma once
#include <stdbool.h>
#include <stdint.h>

/// Restricts a thread to the last of the processors that this process was given, or allows all of them; threads that it
/// starts inherit this. Returns 0, or -1 and `errno`.
int processors_set(int32_t thread, bool last_alone);
