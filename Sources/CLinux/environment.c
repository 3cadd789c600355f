#define _GNU_SOURCE 1
#include "CLinux.h"
#include <stdlib.h>

const char *clinux_secure_getenv(const char *name) { return secure_getenv(name); }
