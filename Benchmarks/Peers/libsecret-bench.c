// Uses the running secret service through libsecret, and writes what it took.
//
//   libsecret-bench LOOKUPS ADDS ITEMS FILE
//   libsecret-bench fill ITEMS
//
// ITEMS items have an attribute "account": account-0@example.org and so on; "fill" stores them. FILE gets five lines of nanoseconds:
// the median look-up, the mean add, a list of all items with their attributes, and, without libsecret's objects for each item, the
// median search for all and the secrets of all by one call.
#include <libsecret/secret.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

// One call of the service, whose reply is to be unreferenced.
static GVariant *call(GDBusConnection *bus, const char *method, GVariant *arguments, const char *type) {
    GError *error = NULL;
    GVariant *reply = g_dbus_connection_call_sync(bus, "org.freedesktop.secrets", "/org/freedesktop/secrets",
        "org.freedesktop.Secret.Service", method, arguments, G_VARIANT_TYPE(type), G_DBUS_CALL_FLAGS_NONE, 300000, NULL, &error);
    if (!reply) fail(method, error);
    return reply;
}

static GVariant *search(GDBusConnection *bus) {
    GVariantBuilder pairs;
    g_variant_builder_init(&pairs, G_VARIANT_TYPE("a{ss}"));
    return call(bus, "SearchItems", g_variant_new("(a{ss})", &pairs), "(aoao)");
}

// The median search for all items, and the secrets of all by one call.
static void all(int items, long long times[2]) {
    GError *error = NULL;
    GDBusConnection *bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, &error);
    if (!bus) fail("bus", error);
    long long searches[5];
    GVariant *paths = NULL;
    for (int run = 0; run < 5; run++) {
        if (paths) g_variant_unref(paths);
        long long begin = now();
        GVariant *reply = search(bus);
        searches[run] = now() - begin;
        paths = g_variant_get_child_value(reply, 0);
        g_variant_unref(reply);
        if ((int)g_variant_n_children(paths) < items) fail("search", NULL);
    }
    qsort(searches, 5, sizeof *searches, compare);
    times[0] = searches[2];
    GVariant *session = call(bus, "OpenSession", g_variant_new("(sv)", "plain", g_variant_new_string("")), "(vo)");
    GVariant *path = g_variant_get_child_value(session, 1);
    long long begin = now();
    GVariant *reply = call(bus, "GetSecrets", g_variant_new("(@aoo)", paths, g_variant_get_string(path, NULL)), "(a{o(oayays)})");
    times[1] = now() - begin;
    GVariant *secrets = g_variant_get_child_value(reply, 0);
    if ((int)g_variant_n_children(secrets) < items) fail("secrets", NULL);
    g_object_unref(bus);
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
    if (count == 3 && strcmp(arguments[1], "fill") == 0) {
        add(atoi(arguments[2]), 0);
        return 0;
    }
    if (count != 5) return 64;
    int lookups = atoi(arguments[1]), adds = atoi(arguments[2]), items = atoi(arguments[3]);
    FILE *file = fopen(arguments[4], "w");
    if (!file) return 1;
    long long times[5] = {lookup(lookups, items), add(adds, items)};
    all(items, times + 3);
    times[2] = list(items);
    for (int line = 0; line < 5; line++) fprintf(file, "%lld\n", times[line]);
    return fclose(file) == 0 ? 0 : 1;
}
