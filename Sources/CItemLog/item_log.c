#include "CItemLog.h"
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

enum { capacity = 64 * 1024 };

/// A write-ahead log; SQLite's own file follows in the same memory.
typedef struct {
    sqlite3_file base;
    /// Octets to write at `start`.
    unsigned char *gathered;
    sqlite3_int64 start;
    int count;
} Log;

/// SQLite's own VFS.
static sqlite3_vfs *own;

static sqlite3_file *behind(sqlite3_file *file) { return (sqlite3_file *)((Log *)file + 1); }

#define OWN(call, ...) (behind(file)->pMethods->call(behind(file), ##__VA_ARGS__))

/// What cannot be written is given up: SQLite takes the change back, and writes at the same place again.
static int write_out(sqlite3_file *file) {
    Log *log = (Log *)file;
    int count = log->count;
    log->count = 0;
    return count == 0 ? SQLITE_OK : OWN(xWrite, log->gathered, count, log->start);
}

static int log_write(sqlite3_file *file, const void *octets, int count, sqlite3_int64 place) {
    Log *log = (Log *)file;
    if (place != log->start + log->count || log->count + count > capacity) {
        int result = write_out(file);
        if (result != SQLITE_OK) return result;
        if (count > capacity) return OWN(xWrite, octets, count, place);
        log->start = place;
    }
    memcpy(log->gathered + log->count, octets, (size_t)count);
    log->count += count;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *octets, int count, sqlite3_int64 place) {
    int result = write_out(file);
    return result == SQLITE_OK ? OWN(xRead, octets, count, place) : result;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 length) {
    int result = write_out(file);
    return result == SQLITE_OK ? OWN(xTruncate, length) : result;
}

static int log_sync(sqlite3_file *file, int flags) {
    int result = write_out(file);
    return result == SQLITE_OK ? OWN(xSync, flags) : result;
}

static int log_file_size(sqlite3_file *file, sqlite3_int64 *length) {
    int result = write_out(file);
    return result == SQLITE_OK ? OWN(xFileSize, length) : result;
}

static int log_close(sqlite3_file *file) {
    int written = write_out(file), closed = OWN(xClose);
    free(((Log *)file)->gathered);
    return written == SQLITE_OK ? closed : written;
}

static int log_lock(sqlite3_file *file, int level) { return OWN(xLock, level); }
static int log_unlock(sqlite3_file *file, int level) { return OWN(xUnlock, level); }
static int log_check_lock(sqlite3_file *file, int *is_held) { return OWN(xCheckReservedLock, is_held); }
static int log_control(sqlite3_file *file, int what, void *value) { return OWN(xFileControl, what, value); }
static int log_sector_size(sqlite3_file *file) { return OWN(xSectorSize); }
static int log_characteristics(sqlite3_file *file) { return OWN(xDeviceCharacteristics); }

static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_file_size,
    .xLock = log_lock,
    .xUnlock = log_unlock,
    .xCheckReservedLock = log_check_lock,
    .xFileControl = log_control,
    .xSectorSize = log_sector_size,
    .xDeviceCharacteristics = log_characteristics,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *flags_out) {
    (void)vfs;
    if (!(flags & SQLITE_OPEN_WAL)) return own->xOpen(own, name, file, flags, flags_out);
    Log *log = (Log *)file;
    *log = (Log){.gathered = malloc(capacity)};
    if (!log->gathered) return SQLITE_NOMEM;
    int result = own->xOpen(own, name, behind(file), flags, flags_out);
    // A file with methods is closed by SQLite, whatever opening it came to.
    if (behind(file)->pMethods) {
        log->base.pMethods = &log_methods;
    } else {
        free(log->gathered);
    }
    return result;
}

int citemlog_register(void) {
    static sqlite3_vfs vfs;
    sqlite3_vfs *found = sqlite3_vfs_find(NULL);
    if (!found) return SQLITE_ERROR;
    vfs = *found;
    vfs.pNext = NULL;
    vfs.zName = "touchstone";
    vfs.szOsFile = (int)sizeof(Log) + found->szOsFile;
    vfs.xOpen = open_file;
    own = found;
    return sqlite3_vfs_register(&vfs, 1);
}
