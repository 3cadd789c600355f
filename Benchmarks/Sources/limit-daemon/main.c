// The limit: the smallest program that does the durable work of a keychain daemon over a UNIX socket.
//
//   limit-daemon SOCKET DATABASE
//
// A row is a key and a secret sealed with AES-256-GCM, and nothing else. Requests and replies are a 4-byte length in
// the machine's byte order and that many bytes. Request: an operation, then a 16-byte key, then a value.
//   'A' add, 'U' update: one row, one commit (WAL, synchronous=FULL); reply: one byte, 1 for success.
//   'D' delete: the same.
//   'G' get: one indexed SELECT, one AES-256-GCM decryption; reply: the secret.
//   'L' list: every row decrypted; reply: each secret after its 4-byte length.
//   'M' list keys: every row, nothing decrypted; reply: each key.
#define _GNU_SOURCE
#include <openssl/evp.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { KEY = 16, NONCE = 12, TAG = 16, MOST = 1 << 20 };

static sqlite3 *database;
static sqlite3_stmt *get, *add, *update, *erase, *list, *keys;
static unsigned char sealing_key[32];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void fail(const char *what) {
    fprintf(stderr, "limit-daemon: %s: %s\n", what, database ? sqlite3_errmsg(database) : "");
    exit(1);
}

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &statement, NULL) != SQLITE_OK) fail(sql);
    return statement;
}

static void open_database(const char *path) {
    if (sqlite3_open(path, &database) != SQLITE_OK) fail(path);
    if (sqlite3_exec(database,
            "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;"
            "CREATE TABLE IF NOT EXISTS items(id INTEGER PRIMARY KEY, key BLOB UNIQUE, sealed BLOB)",
            NULL, NULL, NULL) != SQLITE_OK) fail("open");
    get = prepare("SELECT sealed FROM items WHERE key=?1");
    add = prepare("INSERT INTO items(key, sealed) VALUES(?1, ?2)");
    update = prepare("UPDATE items SET sealed=?2 WHERE key=?1");
    erase = prepare("DELETE FROM items WHERE key=?1");
    list = prepare("SELECT sealed FROM items");
    keys = prepare("SELECT key FROM items");
}

static int seal(EVP_CIPHER_CTX *gcm, const unsigned char *in, int count, unsigned char *out) {
    int done, rest;
    if (getrandom(out, NONCE, 0) != NONCE) return -1;
    EVP_EncryptInit_ex(gcm, EVP_aes_256_gcm(), NULL, sealing_key, out);
    EVP_EncryptUpdate(gcm, out + NONCE, &done, in, count);
    EVP_EncryptFinal_ex(gcm, out + NONCE + done, &rest);
    EVP_CIPHER_CTX_ctrl(gcm, EVP_CTRL_GCM_GET_TAG, TAG, out + NONCE + count);
    return NONCE + count + TAG;
}

static int unseal(EVP_CIPHER_CTX *gcm, const unsigned char *in, int count, unsigned char *out) {
    int done, rest;
    if (count < NONCE + TAG) return -1;
    int length = count - NONCE - TAG;
    EVP_DecryptInit_ex(gcm, EVP_aes_256_gcm(), NULL, sealing_key, in);
    EVP_DecryptUpdate(gcm, out, &done, in + NONCE, length);
    EVP_CIPHER_CTX_ctrl(gcm, EVP_CTRL_GCM_SET_TAG, TAG, (void *)(in + count - TAG));
    return EVP_DecryptFinal_ex(gcm, out + done, &rest) == 1 ? length : -1;
}

static int change(sqlite3_stmt *statement, const unsigned char *key, const unsigned char *sealed, int count) {
    sqlite3_bind_blob(statement, 1, key, KEY, SQLITE_STATIC);
    if (sealed) sqlite3_bind_blob(statement, 2, sealed, count, SQLITE_STATIC);
    int result = sqlite3_step(statement) == SQLITE_DONE && sqlite3_changes(database) == 1;
    sqlite3_reset(statement);
    return result;
}

/// Writes the reply after the space for its length and returns its size; the buffer grows as needed.
static size_t answer(EVP_CIPHER_CTX *gcm, const unsigned char *request, uint32_t count, unsigned char **reply) {
    static __thread unsigned char sealed[MOST + NONCE + TAG];
    const unsigned char *key = request + 1, *value = request + 1 + KEY;
    size_t used = 0, capacity = MOST;
    *reply = realloc(*reply, 4 + capacity);
    switch (request[0]) {
    case 'A':
    case 'U': {
        int length = seal(gcm, value, (int)count - 1 - KEY, sealed);
        (*reply)[4] = (unsigned char)change(request[0] == 'A' ? add : update, key, sealed, length);
        return 1;
    }
    case 'D':
        (*reply)[4] = (unsigned char)change(erase, key, NULL, 0);
        return 1;
    case 'G':
        sqlite3_bind_blob(get, 1, key, KEY, SQLITE_STATIC);
        if (sqlite3_step(get) == SQLITE_ROW) {
            int length = unseal(gcm, sqlite3_column_blob(get, 0), sqlite3_column_bytes(get, 0), *reply + 4);
            used = length < 0 ? 0 : (size_t)length;
        }
        sqlite3_reset(get);
        return used;
    case 'L':
    case 'M': {
        sqlite3_stmt *statement = request[0] == 'L' ? list : keys;
        while (sqlite3_step(statement) == SQLITE_ROW) {
            int length = sqlite3_column_bytes(statement, 0);
            if (used + 4 + (size_t)length > capacity) *reply = realloc(*reply, 4 + (capacity *= 2));
            unsigned char *place = *reply + 4 + used;
            int32_t opened = length;
            if (request[0] == 'L') opened = unseal(gcm, sqlite3_column_blob(statement, 0), length, place + 4);
            else memcpy(place + 4, sqlite3_column_blob(statement, 0), (size_t)length);
            memcpy(place, &opened, 4);
            used += 4 + (size_t)opened;
        }
        sqlite3_reset(statement);
        return used;
    }
    default:
        return 0;
    }
}

static int transfer(ssize_t (*call)(int, void *, size_t, int), int socket, unsigned char *octets, size_t count) {
    for (size_t done = 0; done < count;) {
        ssize_t step = call(socket, octets + done, count - done, MSG_NOSIGNAL);
        if (step <= 0) return 0;
        done += (size_t)step;
    }
    return 1;
}

static ssize_t send_part(int socket, void *octets, size_t count, int flags) {
    return send(socket, octets, count, flags);
}

static void *serve(void *argument) {
    int socket = (int)(intptr_t)argument;
    EVP_CIPHER_CTX *gcm = EVP_CIPHER_CTX_new();
    unsigned char *request = malloc(MOST), *reply = NULL;
    uint32_t count;
    while (transfer(recv, socket, (unsigned char *)&count, 4) && count > KEY && count <= MOST
        && transfer(recv, socket, request, count)) {
        pthread_mutex_lock(&guard);
        uint32_t length = (uint32_t)answer(gcm, request, count, &reply);
        pthread_mutex_unlock(&guard);
        memcpy(reply, &length, 4);
        if (!transfer(send_part, socket, reply, 4 + (size_t)length)) break;
    }
    free(request);
    free(reply);
    EVP_CIPHER_CTX_free(gcm);
    close(socket);
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3) {
        fprintf(stderr, "usage: limit-daemon SOCKET DATABASE\n");
        return 64;
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(arguments[1]) >= sizeof address.sun_path) fail("socket path too long");
    strcpy(address.sun_path, arguments[1]);
    if (getrandom(sealing_key, sizeof sealing_key, 0) != sizeof sealing_key) fail("getrandom");
    open_database(arguments[2]);
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    unlink(arguments[1]);
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 64)) fail("listen");
    for (;;) {
        int socket = accept(listener, NULL, NULL);
        pthread_t thread;
        if (socket >= 0 && pthread_create(&thread, NULL, serve, (void *)(intptr_t)socket) == 0) {
            pthread_detach(thread);
        }
    }
}
