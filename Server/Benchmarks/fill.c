// Fills a store with accounts that have two credentials each, past the server: `fill sqlite PATH COUNT` writes the
// tables of a migrated file, `fill copy accounts|credentials COUNT` prints rows for PostgreSQL's COPY.
#include "people.h"
#include "statements.h"

static uint8_t cose[KEY_COUNT][COSE_KEY_LENGTH];
static const long long created_at = 1790000000000LL;
static const uint8_t aaguid[16];

static void hex(FILE *out, const uint8_t *bytes, size_t count) {
    fputs("\\\\x", out);
    for (size_t i = 0; i < count; i++) fprintf(out, "%02x", bytes[i]);
}

static void copy_accounts(uint64_t count) {
    for (uint64_t i = 0; i < count; i++) {
        uint8_t id[32];
        account_id(i, id);
        hex(stdout, id, 32);
        printf("\tuser-%llu@example.org\tSomebody\t%lld\t\\N\t\\N\t\\N\n", (unsigned long long)i, created_at);
    }
}

static void copy_credentials(uint64_t count) {
    for (uint64_t i = 0; i < count; i++)
        for (unsigned j = 0; j < CREDENTIALS_EACH; j++) {
            uint8_t id[32];
            credential_id(i, j, id);
            hex(stdout, id, 32);
            putchar('\t');
            account_id(i, id);
            hex(stdout, id, 32);
            printf("\tpasskey\tFirefox on Linux\t");
            hex(stdout, cose[key_of(i)], COSE_KEY_LENGTH);
            printf("\t0\t1\t0\t0\t0\tinternal\t");
            hex(stdout, aaguid, 16);
            printf("\tnone\tflag\t\\N\t\\N\t%lld\t\\N\t\\N\n", created_at);
        }
}

static void run(const char *sql) {
    if (sqlite3_exec(database, sql, NULL, NULL, NULL) != SQLITE_OK) die(sqlite3_errmsg(database));
}

/// A key and the number it was made of: rows that come in their key's order fill the pages as they are.
struct Row {
    uint8_t id[32];
    uint64_t number;
};

static int by_id(const void *a, const void *b) { return memcmp(a, b, 32); }

static void fill_sqlite(const char *path, uint64_t count) {
    if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK) die("no such file");
    run("PRAGMA journal_mode = WAL");
    run("PRAGMA synchronous = OFF");
    run("PRAGMA cache_size = -1048576");
    run("BEGIN IMMEDIATE");
    struct Row *rows = calloc(count * CREDENTIALS_EACH, sizeof *rows);
    if (!rows) die("no memory");
    for (uint64_t i = 0; i < count; i++) {
        account_id(i, rows[i].id);
        rows[i].number = i;
    }
    qsort(rows, count, sizeof *rows, by_id);
    sqlite3_stmt *account = prepared(
        "INSERT INTO accounts VALUES (?1, 'user-' || ?2 || '@example.org', 'Somebody', ?3, NULL, NULL, NULL, 0)");
    for (uint64_t i = 0; i < count; i++) {
        sqlite3_bind_blob(account, 1, rows[i].id, 32, SQLITE_STATIC);
        sqlite3_bind_int64(account, 2, (sqlite3_int64)rows[i].number);
        sqlite3_bind_int64(account, 3, created_at);
        step(account);
    }
    for (uint64_t i = 0; i < count * CREDENTIALS_EACH; i++) {
        credential_id(i / CREDENTIALS_EACH, i % CREDENTIALS_EACH, rows[i].id);
        rows[i].number = i / CREDENTIALS_EACH;
    }
    qsort(rows, count * CREDENTIALS_EACH, sizeof *rows, by_id);
    run("DROP INDEX credentials_of_account");
    sqlite3_stmt *credential = prepared(
        "INSERT INTO credentials VALUES (?1, ?2, 'passkey', 'Firefox on Linux', ?3, 0, 1, 0, 0, 0, 'internal', ?4, "
        "'none', 'flag', NULL, NULL, ?5, NULL, NULL)");
    for (uint64_t i = 0; i < count * CREDENTIALS_EACH; i++) {
        uint8_t owner[32];
        account_id(rows[i].number, owner);
        sqlite3_bind_blob(credential, 1, rows[i].id, 32, SQLITE_STATIC);
        sqlite3_bind_blob(credential, 2, owner, 32, SQLITE_STATIC);
        sqlite3_bind_blob(credential, 3, cose[key_of(rows[i].number)], COSE_KEY_LENGTH, SQLITE_STATIC);
        sqlite3_bind_blob(credential, 4, aaguid, 16, SQLITE_STATIC);
        sqlite3_bind_int64(credential, 5, created_at);
        step(credential);
    }
    run("CREATE INDEX credentials_of_account ON credentials (account)");
    run("COMMIT");
    run("PRAGMA wal_checkpoint(TRUNCATE)");
    sqlite3_finalize(account);
    sqlite3_finalize(credential);
    sqlite3_close(database);
    free(rows);
}

int main(int argc, char **argv) {
    for (unsigned i = 0; i < KEY_COUNT; i++) {
        EC_KEY *key = private_key(i);
        cose_key(key, cose[i]);
        EC_KEY_free(key);
    }
    if (argc == 4 && !strcmp(argv[1], "sqlite")) {
        fill_sqlite(argv[2], strtoull(argv[3], NULL, 10));
    } else if (argc == 4 && !strcmp(argv[1], "copy") && !strcmp(argv[2], "accounts")) {
        copy_accounts(strtoull(argv[3], NULL, 10));
    } else if (argc == 4 && !strcmp(argv[1], "copy") && !strcmp(argv[2], "credentials")) {
        copy_credentials(strtoull(argv[3], NULL, 10));
    } else {
        die("fill sqlite PATH COUNT | fill copy accounts|credentials COUNT");
    }
    return 0;
}
