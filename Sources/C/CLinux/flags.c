#define _GNU_SOURCE 1
#include "CLinux.h"
#include <fcntl.h>

const int CLINUX_O_PATH = O_PATH;
