// The peer of store-bench: the same transactions of a login on the same tables, by prepared statements in one thread of C.
//
//   store_limit PATH CLIENTS SECONDS ACCOUNTS
//
// As many logins as there are clients go on at a time: their ceremonies are opened in one commit, and consumed and completed
// in the next. The file is one that `fill` filled.
#include <sys/random.h>
#include <time.h>

#include "people.h"
#include "statements.h"

/// Reads all rows and columns; the last row's column 0 is in `number`.
static int rows(sqlite3_stmt *statement, long long *number, uint8_t *blob) {
    int count = 0;
    while (sqlite3_step(statement) == SQLITE_ROW) {
        count++;
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            if (sqlite3_column_type(statement, i) == SQLITE_BLOB) (void)sqlite3_column_blob(statement, i);
            else (void)sqlite3_column_text(statement, i);
        }
        if (number) *number = sqlite3_column_int64(statement, 0);
        if (blob) memcpy(blob, sqlite3_column_blob(statement, 1), 32);
    }
    sqlite3_reset(statement);
    return count;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void blob(sqlite3_stmt *statement, int index, const uint8_t *bytes, int count) {
    sqlite3_bind_blob(statement, index, bytes, count, SQLITE_TRANSIENT);
}

static void random_bytes(uint8_t *bytes, size_t count) {
    if (getrandom(bytes, count, 0) != (ssize_t)count) die("no random bytes");
}

int main(int argc, char **argv) {
    if (argc != 5) die("store_limit PATH CLIENTS SECONDS ACCOUNTS");
    int clients = atoi(argv[2]);
    double seconds = atof(argv[3]);
    uint64_t accounts = strtoull(argv[4], NULL, 10), number = 0, logins = 0, commits = 0;
    if (sqlite3_open_v2(argv[1], &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        die("no such database");
    if (sqlite3_exec(
            database,
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; "
            "PRAGMA cache_size = -32768",
            NULL, NULL, NULL)
        != SQLITE_OK)
        die(sqlite3_errmsg(database));
    sqlite3_stmt *begin = prepared("BEGIN IMMEDIATE"), *commit = prepared("COMMIT");
    sqlite3_stmt *open = prepared("INSERT INTO ceremonies VALUES (?1, 'login', ?2, NULL, ?3, ?4)");
    sqlite3_stmt *ceremony = prepared("SELECT * FROM ceremonies WHERE id = ?1");
    sqlite3_stmt *consume = prepared("DELETE FROM ceremonies WHERE id = ?1");
    sqlite3_stmt *credential = prepared("SELECT * FROM credentials WHERE id = ?1");
    sqlite3_stmt *account = prepared("SELECT * FROM accounts WHERE id = ?1");
    sqlite3_stmt *sessions = prepared("SELECT * FROM sessions WHERE account = ?1");
    sqlite3_stmt *oldest = prepared(
        "DELETE FROM sessions WHERE account = ?1 AND id = (SELECT id FROM sessions WHERE account = ?1 ORDER BY created_at, "
        "id LIMIT 1)");
    sqlite3_stmt *head =
        prepared("SELECT sequence, hash FROM audit WHERE chain = ?1 ORDER BY sequence DESC LIMIT 1");
    sqlite3_stmt *use = prepared("UPDATE credentials SET sign_count = 0, last_used_at = ?2 WHERE id = ?1");
    sqlite3_stmt *session = prepared(
        "INSERT INTO sessions VALUES (?1, ?2, ?3, 'phrh', 'hwk user pop', ?4, ?4, ?4, ?4, 3600000, ?5, 'Firefox on Linux', "
        "'192.0.2.1', 0)");
    sqlite3_stmt *access = prepared("INSERT INTO access_tokens VALUES (?1, ?2, ?3, 0, ?4)");
    sqlite3_stmt *refresh = prepared("INSERT INTO refresh_tokens VALUES (?1, ?2, ?3, 0, ?4, NULL, NULL, 0)");
    sqlite3_stmt *audit = prepared(
        "INSERT INTO audit (chain, sequence, time, name, session, credential, address, trace, reason, details, "
        "previous_hash, hash) VALUES (?1, ?2, ?3, 'authn_login_success', ?4, ?5, '192.0.2.1', '0123456789abcdef', '', '', "
        "?6, ?7)");
    char options[401];
    memset(options, 'o', 400);
    options[400] = 0;
    double start = now();
    while (now() - start < seconds) {
        uint8_t ids[256][16];
        long long time_now = 1790000000000LL + (long long)(now() * 1000);
        step(begin);
        for (int i = 0; i < clients; i++) {
            uint8_t owner[32];
            account_id((number + (uint64_t)i) % accounts, owner);
            random_bytes(ids[i], 16);
            blob(open, 1, ids[i], 16);
            blob(open, 2, owner, 32);
            sqlite3_bind_text(open, 3, options, 400, SQLITE_STATIC);
            sqlite3_bind_int64(open, 4, time_now + 300000);
            step(open);
        }
        step(commit);
        step(begin);
        for (int i = 0; i < clients; i++) {
            uint8_t owner[32], id[32], name[16], token[38], previous[32] = {0}, hash[32], thumbprint[32] = {1};
            long long sequence = 0;
            account_id((number + (uint64_t)i) % accounts, owner);
            credential_id((number + (uint64_t)i) % accounts, 0, id);
            blob(ceremony, 1, ids[i], 16);
            blob(consume, 1, ids[i], 16);
            blob(account, 1, owner, 32);
            blob(sessions, 1, owner, 32);
            blob(head, 1, owner, 32);
            blob(credential, 1, id, 32);
            if (rows(ceremony, NULL, NULL) != 1 || rows(credential, NULL, NULL) != 1 || rows(account, NULL, NULL) != 1)
                die("not filled");
            step(consume);
            int count = rows(sessions, NULL, NULL);
            rows(head, &sequence, previous);
            if (count >= 10) {
                blob(oldest, 1, owner, 32);
                step(oldest);
            }
            blob(use, 1, id, 32);
            sqlite3_bind_int64(use, 2, time_now);
            step(use);
            random_bytes(name, 16);
            blob(session, 1, owner, 32);
            blob(session, 2, name, 16);
            blob(session, 3, id, 32);
            sqlite3_bind_int64(session, 4, time_now);
            blob(session, 5, thumbprint, 32);
            step(session);
            for (int j = 0; j < 2; j++) {
                sqlite3_stmt *insert = j ? refresh : access;
                // The time, and what would be a hash.
                for (int k = 0; k < 6; k++) token[k] = (uint8_t)(time_now >> (40 - 8 * k));
                random_bytes(token + 6, 32);
                blob(insert, 1, token, 38);
                blob(insert, 2, owner, 32);
                blob(insert, 3, name, 16);
                sqlite3_bind_int64(insert, 4, time_now + 300000);
                step(insert);
            }
            uint8_t record[256] = {0};
            memcpy(record, owner, 32);
            memcpy(record + 32, previous, 32);
            SHA256(record, sizeof record, hash);
            blob(audit, 1, owner, 32);
            sqlite3_bind_int64(audit, 2, sequence + 1);
            sqlite3_bind_int64(audit, 3, time_now);
            blob(audit, 4, name, 16);
            blob(audit, 5, id, 32);
            blob(audit, 6, previous, 32);
            blob(audit, 7, hash, 32);
            step(audit);
        }
        step(commit);
        number += (uint64_t)clients;
        logins += (uint64_t)clients;
        commits += 3;
    }
    printf("login: %.0f a second, %.3f commits each\n", (double)logins / seconds, (double)commits / (double)logins);
    return 0;
}
