#include "CItemFiles.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    /// How many bytes of the log are written at once.
    log_capacity = 64 * 1024,
    /// How many bytes of the main file are read at once.
    main_capacity = 16 * 1024,
    /// The greatest gap between two reads that counts as sequential: pages of a table lie between those of its
    /// indexes.
    longest_step = 8 * 1024,
    /// SQLite's smallest page: a shorter read is of the header.
    smallest_page = 512,
    /// The log's header, and the offsets of the page size and the salts in it (sqlite.org/fileformat2, section 4.1).
    log_header = 32,
    page_size_place = 8,
    salts_place = 16,
    salts_size = 8,
    /// The header before each page of the log, and the offset of its commit field.
    frame_header = 24,
    commit_place = 4,
};

/// The main file or its write-ahead log; SQLite's own file object follows in the same memory.
typedef struct {
    sqlite3_file base;
    /// Buffered bytes of the file from `start` on: pending writes of the log, or read-ahead of the main file.
    unsigned char *octets;
    sqlite3_int64 start;
    int count;
    /// Where SQLite's last read of the main file ended.
    sqlite3_int64 last_end;
    /// Other connections may write the main file too: no read-ahead.
    bool is_shared;
    /// For the log: where its last commit ends.
    sqlite3_int64 end;
    /// For the log: its mark's descriptor, or -1; and the end in the mark, which is 0 if it promises nothing.
    int mark;
    sqlite3_int64 marked;
    unsigned char log_header[log_header];
} File;

/// The end of a log's name.
static const char log_suffix[] = "-wal";

/// SQLite's own VFS.
static sqlite3_vfs *own;

static sqlite3_file *behind(sqlite3_file *file) { return (sqlite3_file *)((File *)file + 1); }

#define OWN(call, ...) (behind(file)->pMethods->call(behind(file), ##__VA_ARGS__))

static int close_file(sqlite3_file *file) {
    int result = OWN(xClose);
    free(((File *)file)->octets);
    return result;
}

// MARK: Handed on

static int unlock(sqlite3_file *file, int level) { return OWN(xUnlock, level); }
static int check_lock(sqlite3_file *file, int *is_held) { return OWN(xCheckReservedLock, is_held); }
static int control(sqlite3_file *file, int what, void *value) { return OWN(xFileControl, what, value); }
static int sector_size(sqlite3_file *file) { return OWN(xSectorSize); }
static int characteristics(sqlite3_file *file) { return OWN(xDeviceCharacteristics); }

// MARK: The log

static int log_lock(sqlite3_file *file, int level) { return OWN(xLock, level); }

/// On failure the pending bytes are dropped: SQLite rolls the change back and writes at the same place again.
static int write_out(sqlite3_file *file) {
    File *log = (File *)file;
    int count = log->count;
    log->count = 0;
    int result = count == 0 ? SQLITE_OK : OWN(xWrite, log->octets, count, log->start);
    if (result != SQLITE_OK) log->end = 0;
    return result;
}

static uint32_t number(const unsigned char *place) {
    return (uint32_t)place[0] << 24 | (uint32_t)place[1] << 16 | (uint32_t)place[2] << 8 | place[3];
}

static void put(unsigned char *place, uint64_t number) {
    for (int index = 0; index < 8; index++) place[index] = (unsigned char)(number >> (56 - 8 * index));
}

// MARK: The mark

static bool ends_with(const char *name, const char *end) {
    size_t count = strlen(name), least = strlen(end);
    return count >= least && strcmp(name + count - least, end) == 0;
}

/// Opens the mark of a log.
///
/// Returns -1 if it cannot be made on a full disk, where the log works as well without it; other errors are the caller's.
static int open_mark(const char *log_name, bool creates, int *result) {
    char name[PATH_MAX];
    int stem = (int)(strlen(log_name) - strlen(log_suffix));
    *result = SQLITE_OK;
    if (snprintf(name, sizeof name, "%.*s%s", stem, log_name, CITEMFILES_MARK_SUFFIX) >= (int)sizeof name) {
        *result = SQLITE_CANTOPEN;
        return -1;
    }
    int mark = open(name, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | (creates ? O_CREAT : 0), 0600);
    bool is_excused = errno == ENOSPC || errno == EDQUOT || (errno == ENOENT && !creates);
    if (mark < 0 && !is_excused) *result = SQLITE_CANTOPEN;
    // No umask makes the mark inaccessible to its owner.
    if (mark >= 0 && creates) fchmod(mark, 0600);
    return mark;
}

/// The end that a mark promises; 0 if it is empty or not whole.
static sqlite3_int64 promised_end(int mark) {
    unsigned char content[CITEMFILES_MARK_SIZE];
    if (pread(mark, content, sizeof content, 0) != sizeof content) return 0;
    return (sqlite3_int64)((uint64_t)number(content + 8) << 32 | number(content + 12));
}

/// Replaces the mark; true if it was written.
static bool write_mark(int mark, sqlite3_int64 end, const unsigned char *salts) {
    unsigned char content[CITEMFILES_MARK_SIZE];
    memcpy(content, CITEMFILES_MARK, 8);
    put(content + 8, (uint64_t)end);
    memcpy(content + 16, salts, salts_size);
    put(content + 24, citemfiles_mark_checksum(content));
    ssize_t count;
    do count = pwrite(mark, content, sizeof content, 0);
    while (count < 0 && errno == EINTR);
    return count == sizeof content;
}

/// Notes the end of the last flushed commit.
///
/// Written after the flush and not flushed itself: it proves that the flush was done. This tells a record that was altered
/// or a log that was lost from one that never reached the disk (`ItemLog.swift`). It is in a file of its own, so that no
/// damage of the log's own file hides how much is missing.
static void mark_flushed(File *log) {
    if (log->mark < 0 || log->end == 0 || log->end == log->marked) return;
    // Best effort: the change is equally durable without it.
    if (write_mark(log->mark, log->end, log->log_header + salts_place)) log->marked = log->end;
}

/// Takes the mark's promise back, durably, before the log loses what it promises: all of it is in the main file by then.
static int take_back(int mark) {
    static const unsigned char no_salts[salts_size];
    if (!write_mark(mark, 0, no_salts)) return errno == ENOSPC ? SQLITE_FULL : SQLITE_IOERR_WRITE;
    int result;
    do result = fdatasync(mark);
    while (result < 0 && errno == EINTR);
    return result == 0 ? SQLITE_OK : SQLITE_IOERR_FSYNC;
}

static int take_back_promise(File *log) {
    if (log->mark < 0 || log->marked == 0) return SQLITE_OK;
    int result = take_back(log->mark);
    if (result == SQLITE_OK) log->marked = 0;
    return result;
}

/// SQLite deletes a log that it has written back to the main file when it closes that.
static int delete_file(sqlite3_vfs *vfs, const char *name, int syncs_directory) {
    (void)vfs;
    int result = SQLITE_OK;
    if (ends_with(name, log_suffix)) {
        int mark = open_mark(name, false, &result);
        if (mark >= 0) {
            if (promised_end(mark) != 0) result = take_back(mark);
            close(mark);
        }
    }
    return result ?: own->xDelete(own, name, syncs_directory);
}

static int log_write(sqlite3_file *file, const void *octets, int count, sqlite3_int64 place) {
    File *log = (File *)file;
    if (place == 0 && count == log_header) {
        int result = take_back_promise(log);
        if (result != SQLITE_OK) return result;
        memcpy(log->log_header, octets, log_header);
        log->end = 0;
    } else if (count == frame_header && number((const unsigned char *)octets + commit_place) != 0) {
        log->end = place + frame_header + number(log->log_header + page_size_place);
    }
    if (place != log->start + log->count || log->count + count > log_capacity) {
        int result = write_out(file);
        if (result != SQLITE_OK) return result;
        if (count > log_capacity) return OWN(xWrite, octets, count, place);
        log->start = place;
    }
    memcpy(log->octets + log->count, octets, (size_t)count);
    log->count += count;
    return SQLITE_OK;
}

static int log_read(sqlite3_file *file, void *octets, int count, sqlite3_int64 place) {
    int result = write_out(file) ?: OWN(xRead, octets, count, place);
    // An existing log is continued with its salts, so its header is kept.
    if (result == SQLITE_OK && place == 0 && count == log_header) {
        memcpy(((File *)file)->log_header, octets, log_header);
    }
    return result;
}

static int log_truncate(sqlite3_file *file, sqlite3_int64 length) {
    int result = write_out(file);
    if (result == SQLITE_OK && length == 0) result = take_back_promise((File *)file);
    return result ?: OWN(xTruncate, length);
}

static int log_sync(sqlite3_file *file, int flags) {
    File *log = (File *)file;
    int result = write_out(file) ?: OWN(xSync, flags);
    if (result == SQLITE_OK) {
        mark_flushed(log);
    } else {
        // SQLite rolls the commit back.
        log->end = 0;
    }
    return result;
}

static int log_file_size(sqlite3_file *file, sqlite3_int64 *length) {
    return write_out(file) ?: OWN(xFileSize, length);
}

static int log_close(sqlite3_file *file) {
    int written = write_out(file);
    if (((File *)file)->mark >= 0) close(((File *)file)->mark);
    int closed = close_file(file);
    return written ?: closed;
}

static const sqlite3_io_methods log_methods = {
    .iVersion = 1,
    .xClose = log_close,
    .xRead = log_read,
    .xWrite = log_write,
    .xTruncate = log_truncate,
    .xSync = log_sync,
    .xFileSize = log_file_size,
    .xLock = log_lock,
    .xUnlock = unlock,
    .xCheckReservedLock = check_lock,
    .xFileControl = control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
};

// MARK: The main file

static void forget(sqlite3_file *file) { ((File *)file)->count = 0; }

static bool is_step(sqlite3_int64 distance) { return distance >= 0 && distance <= longest_step; }

static int main_read(sqlite3_file *file, void *octets, int count, sqlite3_int64 place) {
    File *ahead = (File *)file;
    sqlite3_int64 end = ahead->start + ahead->count, last_end = ahead->last_end;
    ahead->last_end = place + count;
    if (place < ahead->start || place + count > end) {
        bool goes_on = is_step(place - last_end) || is_step(place - end);
        if (!goes_on || ahead->is_shared || count < smallest_page || count > main_capacity) {
            return OWN(xRead, octets, count, place);
        }
        ahead->start = place;
        ahead->count = 0;
        // A short read does not say how many bytes there were: the file's last pages are read one by one.
        if (OWN(xRead, ahead->octets, main_capacity, place) != SQLITE_OK) return OWN(xRead, octets, count, place);
        ahead->count = main_capacity;
    }
    memcpy(octets, ahead->octets + (place - ahead->start), (size_t)count);
    return SQLITE_OK;
}

static int main_write(sqlite3_file *file, const void *octets, int count, sqlite3_int64 place) {
    forget(file);
    return OWN(xWrite, octets, count, place);
}

static int main_truncate(sqlite3_file *file, sqlite3_int64 length) {
    forget(file);
    return OWN(xTruncate, length);
}

/// Another connection may have written the file while it was not locked.
static int main_lock(sqlite3_file *file, int level) {
    forget(file);
    return OWN(xLock, level);
}

static int main_sync(sqlite3_file *file, int flags) { return OWN(xSync, flags); }
static int main_file_size(sqlite3_file *file, sqlite3_int64 *length) { return OWN(xFileSize, length); }

/// SQLite puts the log's index into shared memory only if several connections may open the file.
static int main_share(sqlite3_file *file, int region, int size, int extend, void volatile **memory) {
    ((File *)file)->is_shared = true;
    forget(file);
    return OWN(xShmMap, region, size, extend, memory);
}

static int main_share_lock(sqlite3_file *file, int offset, int count, int flags) {
    return OWN(xShmLock, offset, count, flags);
}

static void main_share_barrier(sqlite3_file *file) { OWN(xShmBarrier); }
static int main_unshare(sqlite3_file *file, int removes) { return OWN(xShmUnmap, removes); }

static const sqlite3_io_methods main_methods = {
    // Version 2: no memory mapping (xFetch).
    .iVersion = 2,
    .xClose = close_file,
    .xRead = main_read,
    .xWrite = main_write,
    .xTruncate = main_truncate,
    .xSync = main_sync,
    .xFileSize = main_file_size,
    .xLock = main_lock,
    .xUnlock = unlock,
    .xCheckReservedLock = check_lock,
    .xFileControl = control,
    .xSectorSize = sector_size,
    .xDeviceCharacteristics = characteristics,
    .xShmMap = main_share,
    .xShmLock = main_share_lock,
    .xShmBarrier = main_share_barrier,
    .xShmUnmap = main_unshare,
};

// MARK: The VFS

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *flags_out) {
    (void)vfs;
    bool is_log = flags & SQLITE_OPEN_WAL, is_main = flags & SQLITE_OPEN_MAIN_DB;
    if (!is_log && !is_main) return own->xOpen(own, name, file, flags, flags_out);
    File *opened = (File *)file;
    *opened = (File){.octets = malloc(is_log ? log_capacity : main_capacity), .last_end = -1, .mark = -1};
    if (!opened->octets) return SQLITE_NOMEM;
    int result = SQLITE_OK;
    if (is_log) opened->mark = open_mark(name, true, &result);
    if (opened->mark >= 0) opened->marked = promised_end(opened->mark);
    if (result == SQLITE_OK) result = own->xOpen(own, name, behind(file), flags, flags_out);
    // SQLite closes every file that has methods, even if opening it failed.
    if (behind(file)->pMethods) {
        opened->base.pMethods = is_log ? &log_methods : &main_methods;
    } else {
        if (opened->mark >= 0) close(opened->mark);
        free(opened->octets);
    }
    return result;
}

uint64_t citemfiles_mark_checksum(const unsigned char *mark) {
    uint64_t sum = 0xCBF29CE484222325;
    for (int index = 0; index < CITEMFILES_MARK_SIZE - 8; index++) sum = (sum ^ mark[index]) * 0x100000001B3;
    return sum;
}

int citemfiles_register(void) {
    static sqlite3_vfs vfs;
    // SQLite's memory statistics are not used, and counting takes a lock at each allocation. The call is refused if
    // SQLite was initialised before; it then counts.
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    own = sqlite3_vfs_find(NULL);
    if (!own) return SQLITE_ERROR;
    vfs = *own;
    vfs.pNext = NULL;
    vfs.zName = "touchstone";
    vfs.szOsFile = (int)sizeof(File) + own->szOsFile;
    vfs.xOpen = open_file;
    vfs.xDelete = delete_file;
    return sqlite3_vfs_register(&vfs, 1);
}

int citemfiles_keep_log(struct sqlite3 *connection) {
    if (!connection) return SQLITE_MISUSE;
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, NULL);
}
