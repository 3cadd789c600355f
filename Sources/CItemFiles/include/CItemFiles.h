// How SQLite reads and writes the files of items.
#pragma once

#pragma clang assume_nonnull begin

/// Makes SQLite's own VFS the default in a form that goes to its files less often.
///
/// * SQLite appends a commit to the write-ahead log in two writes for each page. Here they are gathered and written as
///   one when the log is flushed; what is read, measured or cut short in between is written before. It rests on a
///   flush for each commit (`synchronous=FULL`).
/// * Where SQLite goes through its main file page after page, as for a list, a piece of 16 KiB is read at once. It is
///   forgotten when the file is written. Not where connections share a file: `locking_mode=EXCLUSIVE`.
///
/// To be called once; returns an SQLite result.
int citemfiles_register(void);

#pragma clang assume_nonnull end
