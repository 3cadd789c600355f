// The accounts of the benchmark: each number's account, credentials and key follow from the number alone, so that what
// fills a store and what signs in agree without a file between them.
#ifndef PEOPLE_H
#define PEOPLE_H

#include <openssl/bn.h>
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/obj_mac.h>
#include <openssl/sha.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/// Credentials share this many keys: making two million would measure nothing.
enum { KEY_COUNT = 256, CREDENTIALS_EACH = 2 };

_Noreturn static inline void die(const char *what) {
    fprintf(stderr, "%s\n", what);
    exit(1);
}

static inline void number_digest(const char *kind, uint64_t number, uint8_t digest[32]) {
    char text[64];
    int length = snprintf(text, sizeof text, "%s/%llu", kind, (unsigned long long)number);
    SHA256((const uint8_t *)text, (size_t)length, digest);
}

static inline void account_id(uint64_t number, uint8_t id[32]) { number_digest("account", number, id); }

static inline void credential_id(uint64_t account, unsigned index, uint8_t id[32]) {
    number_digest("credential", account * CREDENTIALS_EACH + index, id);
}

static inline unsigned key_of(uint64_t account) { return (unsigned)(account % KEY_COUNT); }

static inline EC_KEY *private_key(unsigned number) {
    uint8_t scalar[32];
    number_digest("key", number, scalar);
    EC_KEY *key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
    BIGNUM *d = BN_bin2bn(scalar, 32, NULL);
    EC_POINT *point = EC_POINT_new(EC_KEY_get0_group(key));
    if (!EC_POINT_mul(EC_KEY_get0_group(key), point, d, NULL, NULL, NULL)) die("no key");
    if (!EC_KEY_set_private_key(key, d) || !EC_KEY_set_public_key(key, point)) die("no key");
    EC_POINT_free(point);
    BN_free(d);
    return key;
}

/// A COSE_Key for ES256 (RFC 9053, section 7.1.1).
enum { COSE_KEY_LENGTH = 77 };

static inline void cose_key(const EC_KEY *key, uint8_t cose[COSE_KEY_LENGTH]) {
    uint8_t point[65];
    const EC_GROUP *group = EC_KEY_get0_group(key);
    EC_POINT_point2oct(group, EC_KEY_get0_public_key(key), POINT_CONVERSION_UNCOMPRESSED, point, 65, NULL);
    static const uint8_t head[] = {0xA5, 1, 2, 3, 0x26, 0x20, 1, 0x21, 0x58, 0x20};
    static const uint8_t middle[] = {0x22, 0x58, 0x20};
    memcpy(cose, head, 10);
    memcpy(cose + 10, point + 1, 32);
    memcpy(cose + 42, middle, 3);
    memcpy(cose + 45, point + 33, 32);
}

static const char base64url_digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/// Writes base64url without padding and a NUL; returns the length.
static inline size_t base64url(const uint8_t *bytes, size_t count, char *text) {
    size_t length = 0;
    for (size_t i = 0; i < count; i += 3) {
        uint32_t group = (uint32_t)bytes[i] << 16;
        if (i + 1 < count) group |= (uint32_t)bytes[i + 1] << 8;
        if (i + 2 < count) group |= bytes[i + 2];
        text[length++] = base64url_digits[group >> 18];
        text[length++] = base64url_digits[group >> 12 & 63];
        if (i + 1 < count) text[length++] = base64url_digits[group >> 6 & 63];
        if (i + 2 < count) text[length++] = base64url_digits[group & 63];
    }
    text[length] = 0;
    return length;
}

/// Reads base64url without padding; returns the count of bytes, or -1.
static inline long unbase64url(const char *text, size_t length, uint8_t *bytes, size_t room) {
    static int8_t values[256];
    static int is_ready;
    if (!is_ready) {
        memset(values, -1, sizeof values);
        for (int i = 0; i < 64; i++) values[(uint8_t)base64url_digits[i]] = (int8_t)i;
        is_ready = 1;
    }
    uint32_t group = 0;
    int bits = 0;
    size_t count = 0;
    for (size_t i = 0; i < length; i++) {
        int value = values[(uint8_t)text[i]];
        if (value < 0) return -1;
        group = group << 6 | (uint32_t)value;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            if (count == room) return -1;
            bytes[count++] = (uint8_t)(group >> bits);
        }
    }
    return (long)count;
}

/// The value of a JSON string member, by its name; the benchmark's texts have no escapes.
static inline const char *member(const char *json, const char *name, size_t *length) {
    char pattern[64];
    *length = 0;
    int count = snprintf(pattern, sizeof pattern, "\"%s\":\"", name);
    const char *found = strstr(json, pattern);
    if (!found) return NULL;
    found += count;
    const char *end = strchr(found, '"');
    if (!end) return NULL;
    *length = (size_t)(end - found);
    return found;
}

#endif
