// Fills a wallet of the running kwalletd5 over its D-Bus interface, uses it, and writes what it took.
//
//   kwallet-bench LOOKUPS ITEMS FILE
//
// FILE gets two lines of nanoseconds: the median look-up, and a list of all items with their secrets (the median of 5).
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <time.h>

static const char *const destination = "org.kde.kwalletd5", *const path = "/modules/kwalletd5",
                         *const interface = "org.kde.KWallet", *const folder = "bench", *const app = "bench",
                         *const secret = "correct horse battery staple, ok";
static sd_bus *bus;

static int compare(const void *one, const void *other) {
    long long first = *(const long long *)one, second = *(const long long *)other;
    return first < second ? -1 : first > second;
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void check(int result, const char *what) {
    if (result >= 0) return;
    fprintf(stderr, "kwallet-bench: %s: %s\n", what, strerror(-result));
    exit(1);
}

static void name(char account[64], int item) { snprintf(account, 64, "account-%d@example.org", item); }

static sd_bus_message *call(sd_bus_message *message, const char *what) {
    sd_bus_message *reply = NULL;
    check(sd_bus_call(bus, message, 0, NULL, &reply), what);
    sd_bus_message_unref(message);
    return reply;
}

static sd_bus_message *method(const char *member) {
    sd_bus_message *message = NULL;
    check(sd_bus_message_new_method_call(bus, &message, destination, path, interface, member), member);
    return message;
}

// As PAM opens it at login: with a hash of the password, without a dialog.
static int open_wallet(void) {
    char hash[56] = {1};
    sd_bus_message *message = method("pamOpen");
    check(sd_bus_message_append(message, "s", "kdewallet"), "pamOpen");
    check(sd_bus_message_append_array(message, 'y', hash, sizeof hash), "pamOpen");
    check(sd_bus_message_append(message, "i", 1000000), "pamOpen");
    sd_bus_message_unref(call(message, "pamOpen"));
    message = method("open");
    check(sd_bus_message_append(message, "sxs", "kdewallet", 0LL, app), "open");
    sd_bus_message *reply = call(message, "open");
    int wallet = -1;
    check(sd_bus_message_read(reply, "i", &wallet), "open");
    sd_bus_message_unref(reply);
    check(wallet, "open");
    return wallet;
}

static void fill(int wallet, int items) {
    for (int item = 0; item < items; item++) {
        char account[64];
        name(account, item);
        sd_bus_message *message = method("writePassword");
        check(sd_bus_message_append(message, "issss", wallet, folder, account, secret, app), "writePassword");
        sd_bus_message *reply = call(message, "writePassword");
        int result = -1;
        check(sd_bus_message_read(reply, "i", &result), "writePassword");
        check(result, "writePassword");
        sd_bus_message_unref(reply);
    }
}

static long long look_up(int wallet, int lookups, int items) {
    long long *times = calloc((size_t)lookups, sizeof *times);
    for (int run = 0; run < lookups; run++) {
        char account[64];
        const char *found = "";
        name(account, (int)(run * 7919LL % items));
        long long begin = now();
        sd_bus_message *message = method("readPassword");
        check(sd_bus_message_append(message, "isss", wallet, folder, account, app), "readPassword");
        sd_bus_message *reply = call(message, "readPassword");
        check(sd_bus_message_read(reply, "s", &found), "readPassword");
        times[run] = now() - begin;
        if (strcmp(found, secret) != 0) check(-2, account);
        sd_bus_message_unref(reply);
    }
    qsort(times, (size_t)lookups, sizeof *times, compare);
    return times[lookups / 2];
}

static long long list(int wallet, int items) {
    long long times[5];
    for (int run = 0; run < 5; run++) {
        int count = 0, more;
        long long begin = now();
        sd_bus_message *message = method("passwordList");
        check(sd_bus_message_append(message, "iss", wallet, folder, app), "passwordList");
        sd_bus_message *reply = call(message, "passwordList");
        check(sd_bus_message_enter_container(reply, 'a', "{sv}"), "passwordList");
        while ((more = sd_bus_message_enter_container(reply, 'e', "sv")) > 0) {
            const char *account, *found;
            check(sd_bus_message_read(reply, "sv", &account, "s", &found), "passwordList");
            check(sd_bus_message_exit_container(reply), "passwordList");
            count++;
        }
        check(more, "passwordList");
        times[run] = now() - begin;
        sd_bus_message_unref(reply);
        if (count < items) check(-2, "passwordList");
    }
    qsort(times, 5, sizeof *times, compare);
    return times[2];
}

int main(int count, char **arguments) {
    if (count != 4) return 64;
    int lookups = atoi(arguments[1]), items = atoi(arguments[2]);
    FILE *file = fopen(arguments[3], "w");
    if (!file) return 1;
    check(sd_bus_open_user(&bus), "session bus");
    int wallet = open_wallet();
    fill(wallet, items);
    fprintf(file, "%lld\n", look_up(wallet, lookups, items));
    fprintf(file, "%lld\n", list(wallet, items));
    return fclose(file) == 0 ? 0 : 1;
}
