// How SQLite writes the items' write-ahead log.
#pragma once

#pragma clang assume_nonnull begin

/// Makes SQLite's own VFS the default in a form that writes a write-ahead log in large pieces.
///
/// SQLite appends a commit to the log in two writes for each page; here they are gathered and written as one when
/// the log is flushed. What is read, measured or cut short in between is written before. It rests on a flush for
/// each commit (`synchronous=FULL`). To be called once; returns an SQLite result.
int citemlog_register(void);

#pragma clang assume_nonnull end
