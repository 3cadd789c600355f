#ifndef TOUCHSTONE_LIB_FUZZER_H
#define TOUCHSTONE_LIB_FUZZER_H

#include <stddef.h>
#include <stdint.h>

// compiler-rt, lib/fuzzer/FuzzerInterface.h. Scripts/fuzz, which knows the toolchain, links the archive.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*callback)(const uint8_t *data, size_t size));

#endif
