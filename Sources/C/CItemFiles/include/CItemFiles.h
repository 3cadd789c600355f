// How SQLite reads and writes the files of items.
#pragma once

#include <stdint.h>

#pragma clang assume_nonnull begin

/// Makes SQLite's own VFS the default in a form that goes to its files less often.
///
/// * SQLite appends a commit to the write-ahead log in two writes for each page. Here they are gathered and written as
///   one when the log is flushed; what is read, measured or cut short in between is written before. It rests on a
///   flush for each commit (`synchronous=FULL`).
/// * Where SQLite goes through its main file page after page, as for a list, a piece of 16 KiB is read at once. It is
///   forgotten when the file is written. Not where connections share a file: `locking_mode=EXCLUSIVE`.
/// * Behind a commit that was flushed the log says so: see below.
///
/// To be called once; returns an SQLite result.
int citemfiles_register(void);

/// What stands in the log behind the last commit that was flushed: the mark, where that commit ends in the file (8
/// bytes, the most significant first), the log's salts (8), and a checksum of all that (8).
#define CITEMFILES_MARK "TchSlog1"
#define CITEMFILES_MARK_SIZE 32

/// The checksum of a mark: FNV-1a over all that is before it.
uint64_t citemfiles_mark_checksum(const unsigned char *mark);

#pragma clang assume_nonnull end
