// Signs in as fast as a server answers, over connections that stay open, one request at a time on each.
//
//   login_load PORT login|refresh|password|probe CONNECTIONS SECONDS ACCOUNTS [COUNTER [SHARE SHARES]]
//
// login: both requests, with a fresh ES256 signature (wrk cannot sign). refresh: rotates a token, after one login a
// connection. password: names that nobody has, each once, which cost a derivation. probe: an access token is looked up,
// after one login. COUNTER is the first signature counter: later runs on a store need higher ones. SHARE
// of SHARES: of generators at a time, each has accounts of its own. What began in the first half second is not counted. Prints one line of `name=value`.
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "people.h"

enum { MOST_CONNECTIONS = 256, BUFFER = 16384 };
enum Mode { LOGIN, REFRESH, PASSWORD, PROBE };
enum Step { OPTIONS, ANSWER, AGAIN };

struct Connection {
    int fd;
    enum Step step;
    double began, asked;
    size_t length;
    char buffer[BUFFER];
    char refresh[256], access[256];
};

static struct Connection connections[MOST_CONNECTIONS];
static EC_KEY *keys[KEY_COUNT];
static enum Mode mode;
static int port, connection_count;
static uint64_t share, shares = 1;
static uint64_t account_count;
static uint32_t counter;
static uint64_t strangers;
static double measured_from;
static uint64_t refused, busy;
static unsigned seed = 1;

struct Times {
    float *values;
    size_t count, room;
};
static struct Times whole, single;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void add(struct Times *times, double from, double to) {
    if (from < measured_from) return;
    if (times->count == times->room) {
        times->room = times->room ? times->room * 2 : 65536;
        times->values = realloc(times->values, times->room * sizeof(float));
        if (!times->values) die("no memory");
    }
    times->values[times->count++] = (float)(to - from);
}

static int by_value(const void *a, const void *b) {
    float one = *(const float *)a, other = *(const float *)b;
    return (one > other) - (one < other);
}

static double percentile(struct Times *times, double part) {
    if (!times->count) return 0;
    qsort(times->values, times->count, sizeof(float), by_value);
    return times->values[(size_t)(part * (double)(times->count - 1))] * 1000;
}

static void post(struct Connection *connection, const char *path, const char *type, const char *body) {
    char text[BUFFER];
    // Clients have addresses of their own, for a server that believes a proxy.
    unsigned number = (unsigned)rand_r(&seed);
    int length = snprintf(
        text, sizeof text,
        "POST %s HTTP/1.1\r\nHost: localhost:%d\r\nX-Forwarded-For: 10.%u.%u.%u\r\nContent-Type: %s\r\n"
        "Content-Length: %zu\r\n\r\n%s",
        path, port, number >> 16 & 255, number >> 8 & 255, number & 255, type, strlen(body), body);
    connection->length = 0;
    connection->asked = now();
    if (write(connection->fd, text, (size_t)length) != length) die("a request could not be written");
}

static void ask_options(struct Connection *connection) {
    connection->step = OPTIONS;
    connection->began = now();
    post(connection, "/v1/login/options", "application/json", "{}");
}

static void ask_refresh(struct Connection *connection) {
    char body[512];
    snprintf(body, sizeof body, "grant_type=refresh_token&refresh_token=%s", connection->refresh);
    connection->step = AGAIN;
    connection->began = now();
    post(connection, "/v1/token", "application/x-www-form-urlencoded", body);
}

static void ask_password(struct Connection *connection) {
    char body[256];
    snprintf(
        body, sizeof body, "{\"username\":\"nobody-%llu-%d\",\"password\":\"correct horse battery\"}",
        (unsigned long long)strangers++, (int)getpid());
    connection->step = AGAIN;
    connection->began = now();
    post(connection, "/v1/login/password", "application/json", body);
}

static void ask_me(struct Connection *connection) {
    char text[1024];
    int length = snprintf(
        text, sizeof text, "GET /v1/me HTTP/1.1\r\nHost: localhost:%d\r\nAuthorization: Bearer %s\r\n\r\n", port,
        connection->access);
    connection->step = AGAIN;
    connection->length = 0;
    connection->began = connection->asked = now();
    if (write(connection->fd, text, (size_t)length) != length) die("a request could not be written");
}

static void ask_login(struct Connection *connection, const char *options) {
    size_t ceremony_length, challenge_length;
    const char *ceremony = member(options, "ceremonyId", &ceremony_length);
    const char *challenge = member(options, "challenge", &challenge_length);
    if (!ceremony || !challenge) die(options);
    // A connection has accounts of its own, so that counters grow.
    uint64_t lanes = (uint64_t)connection_count * shares;
    uint64_t lane = (uint64_t)(connection - connections) * shares + share;
    uint64_t account = (uint64_t)rand_r(&seed) * 32768u + (uint64_t)rand_r(&seed);
    account = account % (account_count / lanes) * lanes + lane;
    char client_data[512];
    int client_length = snprintf(
        client_data, sizeof client_data,
        "{\"type\":\"webauthn.get\",\"challenge\":\"%.*s\",\"origin\":\"http://localhost:%d\",\"crossOrigin\":false}",
        (int)challenge_length, challenge, port);
    uint8_t signed_data[37 + 32], digest[32], signature[80], id[32], owner[32];
    SHA256((const uint8_t *)"localhost", 9, signed_data);
    signed_data[32] = 0x05;
    counter++;
    for (int i = 0; i < 4; i++) signed_data[33 + i] = (uint8_t)(counter >> (24 - 8 * i));
    SHA256((const uint8_t *)client_data, (size_t)client_length, signed_data + 37);
    SHA256(signed_data, sizeof signed_data, digest);
    unsigned signature_length = sizeof signature;
    if (!ECDSA_sign(0, digest, 32, signature, &signature_length, keys[key_of(account)])) die("no signature");
    credential_id(account, 0, id);
    account_id(account, owner);
    char id_text[48], owner_text[48], data_text[64], client_text[700], signature_text[128], body[2048];
    base64url(id, 32, id_text);
    base64url(owner, 32, owner_text);
    base64url(signed_data, 37, data_text);
    base64url((const uint8_t *)client_data, (size_t)client_length, client_text);
    base64url(signature, signature_length, signature_text);
    snprintf(
        body, sizeof body,
        "{\"ceremonyId\":\"%.*s\",\"credential\":{\"id\":\"%s\",\"rawId\":\"%s\",\"type\":\"public-key\",\"response\":{"
        "\"clientDataJSON\":\"%s\",\"authenticatorData\":\"%s\",\"signature\":\"%s\",\"userHandle\":\"%s\"},"
        "\"clientExtensionResults\":{},\"authenticatorAttachment\":\"platform\"}}",
        (int)ceremony_length, ceremony, id_text, id_text, client_text, data_text, signature_text, owner_text);
    connection->step = ANSWER;
    post(connection, "/v1/login", "application/json", body);
}

static void keep(const char *body, const char *name, char *text, size_t room) {
    size_t length;
    const char *value = member(body, name, &length);
    if (value && length < room) {
        memcpy(text, value, length);
        text[length] = 0;
    }
}

/// A whole answer is in the buffer.
static void answered(struct Connection *connection, int status, const char *body) {
    double time = now();
    add(&single, connection->asked, time);
    if (connection->step == OPTIONS && status == 200) {
        ask_login(connection, body);
        return;
    }
    int is_expected = mode == PASSWORD ? status == 401 : status == 200;
    if (mode == PASSWORD && status == 503) busy++;
    if (!is_expected && !(mode == PASSWORD && status == 503)) {
        if (!refused++) fprintf(stderr, "%d %s\n", status, body);
    }
    if (is_expected && (mode == LOGIN || connection->step == AGAIN)) add(&whole, connection->began, time);
    if (status == 200) {
        keep(body, "refresh_token", connection->refresh, sizeof connection->refresh);
        keep(body, "access_token", connection->access, sizeof connection->access);
    }
    switch (mode) {
    case LOGIN: ask_options(connection); break;
    case REFRESH:
        if (status == 200) ask_refresh(connection);
        else ask_options(connection);
        break;
    case PASSWORD:
        // Somebody who is told to come back does not come back at once.
        if (status == 503) usleep(200);
        ask_password(connection);
        break;
    case PROBE:
        if (status == 200) ask_me(connection);
        else ask_options(connection);
        break;
    }
}

static void readable(struct Connection *connection) {
    ssize_t count =
        read(connection->fd, connection->buffer + connection->length, BUFFER - 1 - connection->length);
    if (count <= 0) die(count == 0 ? "the server closed a connection" : strerror(errno));
    connection->length += (size_t)count;
    connection->buffer[connection->length] = 0;
    char *end = strstr(connection->buffer, "\r\n\r\n");
    if (!end) return;
    char *field = strcasestr(connection->buffer, "\r\ncontent-length:");
    if (!field || field > end) die(connection->buffer);
    size_t length = strtoul(field + 17, NULL, 10);
    if (connection->length < (size_t)(end + 4 - connection->buffer) + length) return;
    answered(connection, atoi(connection->buffer + 9), end + 4);
}

static void begin(struct Connection *connection) {
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    connection->fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection->fd, (struct sockaddr *)&address, sizeof address)) die("nobody listens");
    int one = 1;
    setsockopt(connection->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

int main(int argc, char **argv) {
    if (argc < 6) die("login_load PORT login|refresh|password|probe CONNECTIONS SECONDS ACCOUNTS [COUNTER [SHARE SHARES]]");
    port = atoi(argv[1]);
    static const char *modes[] = {"login", "refresh", "password", "probe"};
    for (mode = 0; mode < 4 && strcmp(modes[mode], argv[2]); mode++) {}
    if (mode == 4) die("no such mode");
    connection_count = atoi(argv[3]);
    double seconds = atof(argv[4]);
    account_count = strtoull(argv[5], NULL, 10);
    counter = argc > 6 ? (uint32_t)strtoul(argv[6], NULL, 10) : 0;
    if (argc > 8) {
        share = strtoull(argv[7], NULL, 10);
        shares = strtoull(argv[8], NULL, 10);
    }
    if (connection_count < 1 || connection_count > MOST_CONNECTIONS) die("too many connections");
    for (unsigned i = 0; i < KEY_COUNT; i++) keys[i] = private_key(i);
    int poll = epoll_create1(0);
    for (int i = 0; i < connection_count; i++) {
        begin(&connections[i]);
        struct epoll_event event = {.events = EPOLLIN, .data.ptr = &connections[i]};
        epoll_ctl(poll, EPOLL_CTL_ADD, connections[i].fd, &event);
    }
    measured_from = now() + 0.5;
    double end = measured_from + seconds;
    for (int i = 0; i < connection_count; i++) {
        if (mode == PASSWORD) ask_password(&connections[i]);
        else ask_options(&connections[i]);
    }
    while (now() < end) {
        struct epoll_event events[MOST_CONNECTIONS];
        int count = epoll_wait(poll, events, MOST_CONNECTIONS, 100);
        for (int i = 0; i < count; i++) readable(events[i].data.ptr);
    }
    double time = now() - measured_from;
    printf(
        "count=%zu rate=%.0f p50=%.2f p99=%.2f request_p99=%.2f refused=%llu busy=%llu counter=%u\n", whole.count,
        (double)whole.count / time, percentile(&whole, 0.5), percentile(&whole, 0.99), percentile(&single, 0.99),
        (unsigned long long)refused, (unsigned long long)busy, counter);
    return refused != 0;
}
