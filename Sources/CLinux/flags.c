#define _GNU_SOURCE 1
#include <unistd.h>
#include <sys/types.h>
#include <sys/socket.h>
#include <fcntl.h>

#include "CLinux.h"

const int CLINUX_O_TMPFILE = O_TMPFILE;
const int CLINUX_O_PATH = O_PATH;
const int CLINUX_AT_EMPTY_PATH = AT_EMPTY_PATH;
const int CLINUX_AT_SYMLINK_FOLLOW = AT_SYMLINK_FOLLOW;
const int CLINUX_AT_SYMLINK_NOFOLLOW = AT_SYMLINK_NOFOLLOW;
const int CLINUX_AT_FDCWD = AT_FDCWD;
