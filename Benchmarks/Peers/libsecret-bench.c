// Uses the running secret service through libsecret, and writes what it took.
//
//   libsecret-bench LOOKUPS ADDS ITEMS FILE
//
// ITEMS items have an attribute "account": account-0@example.org and so on. FILE gets three lines of nanoseconds: the
// median look-up, the mean add, and a list of all items with their attributes.
#include <libsecret/secret.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const SecretSchema schema = {
    "org.example.benchmark", SECRET_SCHEMA_DONT_MATCH_NAME, {{"account", SECRET_SCHEMA_ATTRIBUTE_STRING}}};

static int compare(const void *one, const void *other) {
    long long first = *(const long long *)one, second = *(const long long *)other;
    return first < second ? -1 : first > second;
}

static long long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void fail(const char *what, const GError *error) {
    fprintf(stderr, "libsecret-bench: %s: %s\n", what, error ? error->message : "not found");
    exit(1);
}

static void name(char account[64], int item) { snprintf(account, 64, "account-%d@example.org", item); }

static long long lookup(int lookups, int items) {
    long long *times = calloc((size_t)lookups, sizeof *times);
    // The first opens the session.
    for (int run = -1; run < lookups; run++) {
        char account[64];
        name(account, (int)((run + 1) * 7919LL % items));
        GError *error = NULL;
        long long begin = now();
        gchar *secret = secret_password_lookup_sync(&schema, NULL, &error, "account", account, NULL);
        long long time = now() - begin;
        if (!secret) fail(account, error);
        secret_password_free(secret);
        if (run >= 0) times[run] = time;
    }
    qsort(times, (size_t)lookups, sizeof *times, compare);
    return times[lookups / 2];
}

static long long add(int adds, int items) {
    long long begin = now();
    for (int run = 0; run < adds; run++) {
        char account[64];
        name(account, items + run);
        GError *error = NULL;
        if (!secret_password_store_sync(&schema, SECRET_COLLECTION_DEFAULT, account,
                "correct horse battery staple, ok", NULL, &error, "account", account, NULL)) {
            fail(account, error);
        }
    }
    return (now() - begin) / adds;
}

static long long list(int items) {
    GError *error = NULL;
    int count = 0;
    long long begin = now();
    SecretService *service = secret_service_get_sync(SECRET_SERVICE_NONE, NULL, &error);
    if (!service) fail("service", error);
    SecretCollection *collection = secret_collection_for_alias_sync(
        service, SECRET_COLLECTION_DEFAULT, SECRET_COLLECTION_LOAD_ITEMS, NULL, &error);
    if (!collection) fail("collection", error);
    GList *found = secret_collection_get_items(collection);
    for (GList *item = found; item; item = item->next, count++) {
        g_hash_table_unref(secret_item_get_attributes(item->data));
    }
    long long time = now() - begin;
    if (count < items) fail("list", error);
    g_list_free_full(found, g_object_unref);
    g_object_unref(collection);
    g_object_unref(service);
    return time;
}

int main(int count, char **arguments) {
    if (count != 5) return 64;
    int lookups = atoi(arguments[1]), adds = atoi(arguments[2]), items = atoi(arguments[3]);
    FILE *file = fopen(arguments[4], "w");
    if (!file) return 1;
    long long times[] = {lookup(lookups, items), add(adds, items), list(items)};
    for (int line = 0; line < 3; line++) fprintf(file, "%lld\n", times[line]);
    return fclose(file) == 0 ? 0 : 1;
}
