#define _GNU_SOURCE 1
#include <unistd.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <fcntl.h>
#include "CLinux.h"
#include <stdlib.h>

const char *clinux_secure_getenv(const char *name) { return secure_getenv(name); }
