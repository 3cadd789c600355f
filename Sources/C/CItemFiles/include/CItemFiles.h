// SQLite's access to the item files.
#pragma once

#include <stdint.h>

struct sqlite3;

#pragma clang assume_nonnull begin

/// Registers a wrapper of SQLite's own VFS as the default that reads and writes its files less often.
///
/// * SQLite appends a commit to the write-ahead log in two writes for each page. The wrapper gathers them into one write
///   when the log is flushed, or before it is read, measured or truncated. This relies on a flush for each commit
///   (`synchronous=FULL`).
/// * When SQLite reads its main file page after page, as for a list, the wrapper reads 16 KiB at once and discards them
///   when the file is written. Not where connections share a file: `locking_mode=EXCLUSIVE`.
/// * After a flushed commit it writes a mark beside the log: see below.
///
/// Call once; returns an SQLite result.
int citemfiles_register(void);

/// Makes a connection leave the log as it is when it is closed; returns an SQLite result.
int citemfiles_keep_log(struct sqlite3 *_Nullable connection);

/// The mark of a log, in a file beside it: this text, the file offset where the last flushed commit ends (8 bytes,
/// big-endian), the log's salts (8), and a checksum of all that (8).
///
/// An end of 0, an empty file and one that is not whole promise nothing: the log may be missing, or hold nothing.
#define CITEMFILES_MARK "TchSlog1"
#define CITEMFILES_MARK_SIZE 32
/// The end of the mark's name, in the place of the log's `-wal`.
#define CITEMFILES_MARK_SUFFIX "-mark"

/// The checksum of a mark: FNV-1a over all bytes before it.
uint64_t citemfiles_mark_checksum(const unsigned char *mark);

#pragma clang assume_nonnull end
