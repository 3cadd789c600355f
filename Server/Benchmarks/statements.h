// The programs beside the server use one database each, by statements that are compiled once.
#ifndef STATEMENTS_H
#define STATEMENTS_H

#include <sqlite3.h>

#include "people.h"

static sqlite3 *database;

static inline sqlite3_stmt *prepared(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK)
        die(sqlite3_errmsg(database));
    return statement;
}

/// Runs a statement that answers with no row.
static inline void step(sqlite3_stmt *statement) {
    if (sqlite3_step(statement) != SQLITE_DONE) die(sqlite3_errmsg(database));
    sqlite3_reset(statement);
}

#endif
