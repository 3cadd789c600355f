// A pinentry program for measuring: nobody sits at it, and it notes when it answered.
//
// It works in the directory that its own file lies in:
//   passcode   what it types as the passcode; read
//   code       the recovery code that it was shown; written, and typed back later
//   answered   nanoseconds of CLOCK_MONOTONIC just before it gave the passcode; written
//   shown      the same when a box was put up that waits for a finger; written
// A box that waits for a finger is never answered: it ends when it is taken away.
#define _GNU_SOURCE
#include <libgen.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char directory[4096];

static FILE *file(const char *name, const char *mode) {
    char path[4200];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    return fopen(path, mode);
}

static void note_time(const char *name) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    FILE *note = file(name, "w");
    if (!note) return;
    fprintf(note, "%lld\n", (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    fclose(note);
}

/// Writes the file's first line as the answer to GETPIN.
static void type(const char *name) {
    char text[256] = "";
    FILE *source = file(name, "r");
    if (source) {
        if (!fgets(text, sizeof text, source)) text[0] = 0;
        fclose(source);
    }
    text[strcspn(text, "\n")] = 0;
    printf("D %s\nOK\n", text);
}

/// Keeps a recovery code: what follows the description's last line break, 28 symbols in groups of four.
static void keep_code(const char *description) {
    const char *last = description;
    for (const char *next; (next = strstr(last, "%0A")); last = next + 3) {}
    if (strlen(last) != 34 || strspn(last, "0123456789ABCDEFGHJKMNPQRSTVWXYZ-") != 34) return;
    FILE *code = file("code", "w");
    if (!code) return;
    fprintf(code, "%s\n", last);
    fclose(code);
}

static int starts(const char *line, const char *with) { return strncmp(line, with, strlen(with)) == 0; }

int main(void) {
    char line[4096], program[4096];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length < 0) return 1;
    program[length] = 0;
    snprintf(directory, sizeof directory, "%s", dirname(program));
    setvbuf(stdout, NULL, _IOFBF, 4096);

    int waits_for_finger = 0, wants_code = 0, repeats = 0;
    printf("OK Pleased to meet you\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        if (starts(line, "SETDESC ")) {
            waits_for_finger = strstr(line, "Touch the fingerprint sensor") != NULL;
            keep_code(line);
            printf("OK\n");
        } else if (starts(line, "SETPROMPT ")) {
            wants_code = starts(line, "SETPROMPT Recovery code");
            printf("OK\n");
        } else if (starts(line, "SETREPEAT ")) {
            repeats = 1;
            printf("OK\n");
        } else if ((starts(line, "GETPIN") || starts(line, "CONFIRM")) && waits_for_finger) {
            note_time("shown");
        } else if (starts(line, "GETPIN")) {
            if (repeats) printf("S PIN_REPEATED\n");
            if (!wants_code) note_time("answered");
            type(wants_code ? "code" : "passcode");
        } else if (starts(line, "GETINFO flavor")) {
            printf("D scripted\nOK\n");
        } else {
            printf("OK\n");
        }
        fflush(stdout);
        if (starts(line, "BYE")) return 0;
    }
    return 0;
}
