// Looks items of the running secret service up through libsecret, and writes the median time.
//
//   libsecret-lookup COUNT ITEMS FILE
//
// ITEMS items have an attribute "account": account-0@example.org and so on. FILE gets nanoseconds.
#include <libsecret/secret.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static int compare(const void *one, const void *other) {
    long long first = *(const long long *)one, second = *(const long long *)other;
    return first < second ? -1 : first > second;
}

int main(int count, char **arguments) {
    if (count != 4) return 64;
    int lookups = atoi(arguments[1]), items = atoi(arguments[2]);
    const SecretSchema schema = {
        "org.example.benchmark", SECRET_SCHEMA_DONT_MATCH_NAME, {{"account", SECRET_SCHEMA_ATTRIBUTE_STRING}}};
    long long *times = calloc((size_t)lookups, sizeof *times);
    // The first opens the session.
    for (int run = -1; run < lookups; run++) {
        char account[64];
        snprintf(account, sizeof account, "account-%d@example.org", (int)((run + 1) * 7919LL % items));
        struct timespec begin, end;
        clock_gettime(CLOCK_MONOTONIC, &begin);
        GError *error = NULL;
        gchar *secret = secret_password_lookup_sync(&schema, NULL, &error, "account", account, NULL);
        clock_gettime(CLOCK_MONOTONIC, &end);
        if (!secret) {
            fprintf(stderr, "libsecret-lookup: %s: %s\n", account, error ? error->message : "not found");
            return 1;
        }
        secret_password_free(secret);
        if (run >= 0) {
            times[run] = (end.tv_sec - begin.tv_sec) * 1000000000LL + end.tv_nsec - begin.tv_nsec;
        }
    }
    qsort(times, (size_t)lookups, sizeof *times, compare);
    FILE *file = fopen(arguments[3], "w");
    if (!file) return 1;
    fprintf(file, "%lld\n", times[lookups / 2]);
    return fclose(file) == 0 ? 0 : 1;
}
