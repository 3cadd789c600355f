#define _GNU_SOURCE 1
#include "CLinux.h"
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <unistd.h>

bool clinux_is_secure(void) { return getauxval(AT_SECURE) != 0; }

const char *clinux_secure_getenv(const char *name) { return secure_getenv(name); }

static bool is_named(const char *variable, const char *const *names) {
    const char *end = strchr(variable, '=');
    size_t length = end != NULL ? (size_t)(end - variable) : strlen(variable);
    for (; *names != NULL; names++) {
        if (strlen(*names) == length && memcmp(*names, variable, length) == 0) return true;
    }
    return false;
}

int clinux_restart_with_variables(const char *const *names) {
    size_t count = 0, kept = 0;
    for (; environ != NULL && environ[count] != NULL; count++) kept += is_named(environ[count], names);
    if (kept == count) {
        // The kernel calls a program after the file that was executed, which below is a link of another name.
        (void)prctl(PR_SET_NAME, program_invocation_short_name, 0L, 0L, 0L);
        return 0;
    }

    char **variables = calloc(kept + 1, sizeof *variables);
    // The arguments as the kernel has them, separated by NUL: a library may have changed its copy.
    FILE *file = fopen("/proc/self/cmdline", "re");
    if (variables == NULL || file == NULL) return -1;
    char **arguments = NULL;
    size_t number = 0;
    for (;;) {
        char *argument = NULL;
        size_t room = 0;
        ssize_t length = getdelim(&argument, &room, '\0', file);
        char **more = realloc(arguments, (number + 2) * sizeof *arguments);
        if (more == NULL) return -1;
        arguments = more;
        arguments[number] = length < 0 ? NULL : argument;
        if (length < 0) break;
        number++;
    }
    fclose(file);
    if (number == 0) {
        errno = EINVAL;
        return -1;
    }
    kept = 0;
    for (size_t index = 0; index < count; index++) {
        if (is_named(environ[index], names)) variables[kept++] = environ[index];
    }
    execve("/proc/self/exe", arguments, variables);
    return -1;
}
