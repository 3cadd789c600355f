// What a machine gives: one thread of C that does a passkey login's work and nothing else, with epoll and SQLite, on the same
// tables: `login_limit PORT DATABASE`. Options: a random challenge is stored. Login: it is read, parsed, the challenge deleted
// once, the credential read, the signature verified, the counter written, the session stored. Requests that are there together
// share a commit, and are answered after it. It keeps no limits, audit, tokens or log, and answers no malformed request.
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "people.h"
#include "statements.h"

enum { BUFFER = 16384, MOST_EVENTS = 256 };

struct Connection {
    int fd;
    size_t length, answer_length;
    char buffer[BUFFER], answer[2048];
};

static int port;
static EC_GROUP *group;
static sqlite3_stmt *begin, *commit, *open_ceremony, *consume, *credential, *use, *session;

static long long milliseconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (long long)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static void reply(struct Connection *connection, int status, const char *body) {
    connection->answer_length = (size_t)snprintf(
        connection->answer, sizeof connection->answer,
        "HTTP/1.1 %d OK\r\nContent-Type: application/json\r\nCache-Control: no-store\r\nContent-Length: %zu\r\n\r\n%s",
        status, strlen(body), body);
}

static void options(struct Connection *connection) {
    uint8_t id[32], challenge[32];
    if (getrandom(id, 32, 0) != 32 || getrandom(challenge, 32, 0) != 32) die("no random bytes");
    char challenge_text[48], id_text[48], kept[512], body[1024];
    base64url(challenge, 32, challenge_text);
    base64url(id, 32, id_text);
    int length = snprintf(
        kept, sizeof kept,
        "{\"allowCredentials\":[],\"challenge\":\"%s\",\"rpId\":\"localhost\",\"timeout\":300000,"
        "\"userVerification\":\"required\"}",
        challenge_text);
    long long expires = milliseconds() + 300000;
    sqlite3_bind_blob(open_ceremony, 1, id, 32, SQLITE_STATIC);
    sqlite3_bind_text(open_ceremony, 2, kept, length, SQLITE_STATIC);
    sqlite3_bind_int64(open_ceremony, 3, expires);
    step(open_ceremony);
    snprintf(
        body, sizeof body, "{\"ceremonyId\":\"%s\",\"expiresAt\":%lld,\"publicKey\":%s}", id_text, expires / 1000, kept);
    reply(connection, 200, body);
}

/// The bytes of a member in base64url; -1 without it.
static long bytes_of(const char *json, const char *name, uint8_t *bytes, size_t room) {
    size_t length;
    const char *text = member(json, name, &length);
    return text ? unbase64url(text, length, bytes, room) : -1;
}

static int verify(const uint8_t *cose, const uint8_t digest[32], const uint8_t *signature, int length) {
    uint8_t point[65] = {4};
    memcpy(point + 1, cose + 10, 32);
    memcpy(point + 33, cose + 45, 32);
    EC_KEY *key = EC_KEY_new();
    EC_KEY_set_group(key, group);
    int is_good =
        EC_KEY_oct2key(key, point, 65, NULL) == 1 && ECDSA_verify(0, digest, 32, signature, length, key) == 1;
    EC_KEY_free(key);
    return is_good;
}

static int login(const char *json, char *body, size_t room) {
    uint8_t ceremony[32], id[64], handle[64], client[1024], data[256], signature[128], host[32];
    if (bytes_of(json, "ceremonyId", ceremony, 32) != 32) return 400;
    long id_length = bytes_of(json, "rawId", id, sizeof id);
    long handle_length = bytes_of(json, "userHandle", handle, sizeof handle);
    long client_length = bytes_of(json, "clientDataJSON", client, sizeof client - 1);
    long data_length = bytes_of(json, "authenticatorData", data, sizeof data - 32);
    long signature_length = bytes_of(json, "signature", signature, sizeof signature);
    if (id_length < 0 || handle_length < 0 || client_length < 0 || data_length < 37 || signature_length < 0)
        return 400;
    client[client_length] = 0;
    sqlite3_bind_blob(consume, 1, ceremony, 32, SQLITE_STATIC);
    if (sqlite3_step(consume) != SQLITE_ROW) {
        sqlite3_reset(consume);
        return 410;
    }
    int is_alive = sqlite3_column_int64(consume, 1) > milliseconds();
    size_t kept_length, given_length;
    const char *kept = member((const char *)sqlite3_column_text(consume, 0), "challenge", &kept_length);
    const char *given = member((const char *)client, "challenge", &given_length);
    int is_same = kept && given && kept_length == given_length && !memcmp(kept, given, kept_length);
    step(consume);
    if (!is_alive || !is_same) return 401;
    size_t origin_length, type_length;
    const char *origin = member((const char *)client, "origin", &origin_length);
    const char *type = member((const char *)client, "type", &type_length);
    char own[64];
    snprintf(own, sizeof own, "http://localhost:%d", port);
    if (!origin || strncmp(origin, own, origin_length) || !type || strncmp(type, "webauthn.get", type_length))
        return 401;
    SHA256((const uint8_t *)"localhost", 9, host);
    if (memcmp(host, data, 32) || (data[32] & 5) != 5) return 401;
    sqlite3_bind_blob(credential, 1, id, (int)id_length, SQLITE_STATIC);
    if (sqlite3_step(credential) != SQLITE_ROW) {
        sqlite3_reset(credential);
        return 401;
    }
    uint8_t cose[COSE_KEY_LENGTH];
    int is_known = sqlite3_column_bytes(credential, 0) == COSE_KEY_LENGTH
        && sqlite3_column_bytes(credential, 2) == handle_length
        && !memcmp(sqlite3_column_blob(credential, 2), handle, (size_t)handle_length);
    if (is_known) memcpy(cose, sqlite3_column_blob(credential, 0), sizeof cose);
    uint32_t old = (uint32_t)sqlite3_column_int64(credential, 1);
    sqlite3_reset(credential);
    uint32_t counter = (uint32_t)data[33] << 24 | (uint32_t)data[34] << 16 | (uint32_t)data[35] << 8 | data[36];
    if (!is_known || ((old || counter) && counter <= old)) return 401;
    uint8_t digest[32];
    SHA256(client, (size_t)client_length, data + data_length);
    SHA256(data, (size_t)data_length + 32, digest);
    if (!verify(cose, digest, signature, (int)signature_length)) return 401;
    long long now = milliseconds();
    sqlite3_bind_int64(use, 1, counter);
    sqlite3_bind_int64(use, 2, now);
    sqlite3_bind_blob(use, 3, id, (int)id_length, SQLITE_STATIC);
    step(use);
    uint8_t token[32], name[16], token_digest[32];
    if (getrandom(token, 32, 0) != 32 || getrandom(name, 16, 0) != 16) die("no random bytes");
    SHA256(token, 32, token_digest);
    sqlite3_bind_blob(session, 1, handle, (int)handle_length, SQLITE_STATIC);
    sqlite3_bind_blob(session, 2, name, 16, SQLITE_STATIC);
    sqlite3_bind_blob(session, 3, id, (int)id_length, SQLITE_STATIC);
    sqlite3_bind_int64(session, 4, now);
    sqlite3_bind_blob(session, 5, token_digest, 32, SQLITE_STATIC);
    step(session);
    char token_text[48], name_text[32];
    base64url(token, 32, token_text);
    base64url(name, 16, name_text);
    snprintf(
        body, room,
        "{\"access_token\":\"%s\",\"auth_time\":%lld,\"expires_in\":300,\"session_id\":\"%s\",\"token_type\":\"Bearer\"}",
        token_text, now / 1000, name_text);
    return 200;
}

/// Does the work of a whole request; returns whether there was one.
static int work(struct Connection *connection) {
    connection->buffer[connection->length] = 0;
    char *end = strstr(connection->buffer, "\r\n\r\n");
    if (!end) return 0;
    char *field = strcasestr(connection->buffer, "\r\ncontent-length:");
    size_t length = field && field < end ? strtoul(field + 17, NULL, 10) : 0;
    if (connection->length < (size_t)(end + 4 - connection->buffer) + length) return 0;
    if (!strncmp(connection->buffer, "POST /v1/login/options ", 23)) {
        options(connection);
    } else if (!strncmp(connection->buffer, "POST /v1/login ", 15)) {
        char body[1024] = "{}";
        int status = login(end + 4, body, sizeof body);
        reply(connection, status, body);
    } else {
        reply(connection, 404, "{}");
    }
    connection->length = 0;
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 3) die("login_limit PORT DATABASE");
    port = atoi(argv[1]);
    group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
    if (sqlite3_open_v2(argv[2], &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL) != SQLITE_OK)
        die("no such database");
    if (sqlite3_exec(
            database,
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 4000; "
            "PRAGMA cache_size = -32768",
            NULL, NULL, NULL)
        != SQLITE_OK)
        die(sqlite3_errmsg(database));
    begin = prepared("BEGIN IMMEDIATE");
    commit = prepared("COMMIT");
    open_ceremony = prepared("INSERT INTO ceremonies VALUES (?1, 'login', NULL, NULL, ?2, ?3)");
    consume = prepared("DELETE FROM ceremonies WHERE id = ?1 RETURNING options, expires_at");
    credential = prepared("SELECT public_key, sign_count, account FROM credentials WHERE id = ?1");
    use = prepared("UPDATE credentials SET sign_count = ?1, last_used_at = ?2 WHERE id = ?3");
    session = prepared(
        "INSERT INTO sessions VALUES (?1, ?2, ?3, 'phr', 'pop swk user', ?4, ?4, ?4, ?4 + 7776000000, 2592000000, "
        "?5, '', '127.0.0.1', 0)");
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (struct sockaddr *)&address, sizeof address) || listen(listener, 128)) die(strerror(errno));
    int poll = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = NULL};
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        struct epoll_event events[MOST_EVENTS];
        struct Connection *done[MOST_EVENTS];
        int count = epoll_wait(poll, events, MOST_EVENTS, -1), done_count = 0;
        for (int i = 0; i < count; i++) {
            struct Connection *connection = events[i].data.ptr;
            if (!connection) {
                connection = calloc(1, sizeof *connection);
                connection->fd = accept(listener, NULL, NULL);
                setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
                struct epoll_event other = {.events = EPOLLIN, .data.ptr = connection};
                epoll_ctl(poll, EPOLL_CTL_ADD, connection->fd, &other);
                continue;
            }
            ssize_t got =
                read(connection->fd, connection->buffer + connection->length, BUFFER - 1 - connection->length);
            if (got <= 0) {
                close(connection->fd);
                free(connection);
                continue;
            }
            connection->length += (size_t)got;
            if (!done_count) step(begin);
            done[done_count] = connection;
            done_count++;
        }
        int answered = 0;
        for (int i = 0; i < done_count; i++)
            if (work(done[i])) done[answered++] = done[i];
        if (done_count) step(commit);
        for (int i = 0; i < answered; i++)
            if (write(done[i]->fd, done[i]->answer, done[i]->answer_length) < 0) perror("write");
    }
}
