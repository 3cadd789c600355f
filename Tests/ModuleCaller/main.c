#include "caller.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

CK_FUNCTION_LIST *p11;
static void *handle;

void *loaded(void) { return handle; }

void load(const char *path) {
    handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(70);
    }
    CK_RV (*get)(CK_FUNCTION_LIST **) = (CK_RV (*)(CK_FUNCTION_LIST **))dlsym(handle, "C_GetFunctionList");
    if (get == NULL || get(&p11) != CKR_OK) exit(71);
}

CK_RV say(const char *name, CK_RV code) {
    printf("%s %lx\n", name, code);
    fflush(stdout);
    return code;
}

CK_SESSION_HANDLE open_session(void) {
    CK_SESSION_HANDLE session = 0;
    CK_RV code = p11->C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL, &session);
    if (code != CKR_OK) say("OpenSession", code);
    return session;
}

CK_OBJECT_HANDLE find(CK_SESSION_HANDLE session, CK_OBJECT_CLASS class, const char *label) {
    CK_ATTRIBUTE template[] = {
        {CKA_CLASS, &class, sizeof class},
        {CKA_LABEL, (void *)label, label == NULL ? 0 : strlen(label)},
    };
    CK_OBJECT_HANDLE object = 0;
    CK_ULONG count = 0;
    CK_RV code = p11->C_FindObjectsInit(session, template, label == NULL ? 1 : 2);
    if (code != CKR_OK) {
        say("FindObjectsInit", code);
        return 0;
    }
    p11->C_FindObjects(session, &object, 1, &count);
    p11->C_FindObjectsFinal(session);
    return count == 1 ? object : 0;
}

CK_RV sign(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key, CK_BYTE signature[64]) {
    CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
    CK_BYTE digest[32] = {1, 2, 3};
    CK_ULONG count = 64;
    CK_RV code = p11->C_SignInit(session, &mechanism, key);
    return code == CKR_OK ? p11->C_Sign(session, digest, sizeof digest, signature, &count) : code;
}

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

// No daemon: the slot is there, the token is not.
static void absent(void) {
    double start = now();
    say("Initialize", p11->C_Initialize(NULL));
    printf("milliseconds %d\n", (int)(now() - start));
    CK_SLOT_ID slots[2];
    CK_ULONG count = 2;
    say("GetSlotList", p11->C_GetSlotList(CK_FALSE, slots, &count));
    printf("slots %lu\n", count);
    say("GetSlotList", p11->C_GetSlotList(CK_TRUE, slots, &count));
    printf("present %lu\n", count);
    CK_SLOT_INFO slot;
    say("GetSlotInfo", p11->C_GetSlotInfo(0, &slot));
    printf("token %lu\n", slot.flags & CKF_TOKEN_PRESENT);
    CK_TOKEN_INFO token;
    say("GetTokenInfo", p11->C_GetTokenInfo(0, &token));
    CK_SESSION_HANDLE session;
    say("OpenSession", p11->C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL, &session));
    say("Finalize", p11->C_Finalize(NULL));
}

// Flags of the token; a login with any PIN.
static void login(void) {
    p11->C_Initialize(NULL);
    CK_TOKEN_INFO token;
    say("GetTokenInfo", p11->C_GetTokenInfo(0, &token));
    printf("flags %lx\n", token.flags);
    CK_SESSION_HANDLE session = open_session();
    CK_SESSION_INFO info;
    p11->C_GetSessionInfo(session, &info);
    printf("state %lu\n", info.state);
    CK_BYTE pin[] = "wrong";
    for (CK_USER_TYPE user = CKU_SO; user <= CKU_CONTEXT_SPECIFIC; user++) {
        say("Login", p11->C_Login(session, user, pin, 5));
        say("Login", p11->C_Login(session, user, NULL, 0));
    }
    printf("pin %s\n", pin);
    p11->C_GetSessionInfo(session, &info);
    printf("state %lu\n", info.state);
    say("Logout", p11->C_Logout(session));
    say("InitToken", p11->C_InitToken(0, pin, 5, pin));
    say("InitPIN", p11->C_InitPIN(session, pin, 5));
    say("SetPIN", p11->C_SetPIN(session, pin, 5, pin, 5));
}

// Everything that asks for nothing, and then, with "sign", one signature in parts.
static void sizes(const char *label) {
    p11->C_Initialize(NULL);
    CK_SESSION_HANDLE session = open_session();
    CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, label);
    CK_MECHANISM mechanism = {CKM_ECDSA_SHA256, NULL, 0};
    CK_BYTE data[] = "hello", signature[64];
    CK_ULONG count = 0;
    say("SignInit", p11->C_SignInit(session, &mechanism, key));
    say("Sign", p11->C_Sign(session, data, 5, NULL, &count));
    printf("size %lu\n", count);
    count = 63;
    say("Sign", p11->C_Sign(session, data, 5, signature, &count));
    say("SignUpdate", p11->C_SignUpdate(session, data, 5));
    say("SignFinal", p11->C_SignFinal(session, NULL, &count));
    printf("size %lu\n", count);
    count = 10;
    say("SignFinal", p11->C_SignFinal(session, signature, &count));
    printf("asked nothing\n");
    count = 64;
    if (say("SignFinal", p11->C_SignFinal(session, signature, &count)) == CKR_OK) {
        printf("signature ");
        for (int i = 0; i < 64; i++) printf("%02x", signature[i]);
        printf("\n");
    }
    say("SignFinal", p11->C_SignFinal(session, signature, &count));
    CK_ATTRIBUTE point = {CKA_EC_POINT, NULL, 0};
    p11->C_GetAttributeValue(session, key, &point, 1);
    printf("point %lu\n", point.ulValueLen);
    CK_ATTRIBUTE value = {CKA_VALUE, data, sizeof data};
    say("GetAttributeValue", p11->C_GetAttributeValue(session, key, &value, 1));
}

// Forks, and waits for the child, which uses the library by itself.
static void work_in_child(CK_SESSION_HANDLE session) {
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        CK_SESSION_INFO info;
        say("child GetSessionInfo", p11->C_GetSessionInfo(session, &info));
        say("child Finalize", p11->C_Finalize(NULL));
        say("child Initialize", p11->C_Initialize(NULL));
        CK_SESSION_HANDLE own = open_session();
        say("child Sign", sign(own, find(own, CKO_PRIVATE_KEY, "free"), (CK_BYTE[64]){0}));
        say("child Finalize", p11->C_Finalize(NULL));
        _exit(0);
    }
    waitpid(child, NULL, 0);
}

static CK_SESSION_HANDLE waiting_session;
static CK_OBJECT_HANDLE waiting_key;

static void *wait_in_sign(void *name) {
    CK_BYTE signature[64];
    say(name, sign(waiting_session, waiting_key, signature));
    return NULL;
}

// One session waits for the user; once a line is read from standard input, the other calls are made.
static void wait_in(const char *label, const char *how) {
    p11->C_Initialize(NULL);
    waiting_session = open_session();
    CK_SESSION_HANDLE other = open_session();
    waiting_key = find(waiting_session, CKO_PRIVATE_KEY, label);
    pthread_t thread;
    pthread_create(&thread, NULL, wait_in_sign, "Sign");
    // The test writes a line once the box is shown.
    char line[8];
    if (fgets(line, sizeof line, stdin) == NULL) exit(72);
    if (strcmp(how, "others") == 0) {
        CK_BYTE signature[64];
        printf("free %d\n", find(other, CKO_PRIVATE_KEY, "free") != 0);
        say("other", sign(other, find(other, CKO_PRIVATE_KEY, "free"), signature));
        CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
        say("same", p11->C_SignInit(waiting_session, &mechanism, waiting_key));
        say("CloseSession", p11->C_CloseSession(waiting_session));
    } else if (strcmp(how, "fork") == 0) {
        work_in_child(other);
        say("CloseAllSessions", p11->C_CloseAllSessions(0));
    } else if (strcmp(how, "finalize") == 0) {
        say("Finalize", p11->C_Finalize(NULL));
    }
    pthread_join(thread, NULL);
    if (strcmp(how, "daemon") == 0) say("again", sign(other, find(other, CKO_PRIVATE_KEY, "free"), (CK_BYTE[64]){0}));
}

// The child of a fork has an uninitialised library, and the parent's connection goes on.
static void forked(void) {
    p11->C_Initialize(NULL);
    CK_SESSION_HANDLE session = open_session();
    CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, "free");
    work_in_child(session);
    say("parent Sign", sign(session, key, (CK_BYTE[64]){0}));
    say("parent Finalize", p11->C_Finalize(NULL));
}

// Unloaded and loaded again, the library works, and gives no handle twice.
static void reloaded(const char *path) {
    CK_SESSION_HANDLE session = 0;
    CK_OBJECT_HANDLE key = 0;
    for (int round = 0; round < 3; round++) {
        say("Initialize", p11->C_Initialize(NULL));
        say("Initialize", p11->C_Initialize(NULL));
        CK_SESSION_HANDLE next = open_session();
        CK_OBJECT_HANDLE found = find(next, CKO_PRIVATE_KEY, "free");
        printf("new %d\n", next > session && found > key && next != found);
        session = next;
        key = found;
        say("Finalize", p11->C_Finalize(NULL));
        say("Finalize", p11->C_Finalize(NULL));
        dlclose(loaded());
        load(path);
    }
}

static CK_RV derive(CK_SESSION_HANDLE session, const char *own, const char *other, bool encoded, CK_BYTE secret[32]) {
    CK_BYTE point[67];
    CK_ATTRIBUTE attribute = {CKA_EC_POINT, point, sizeof point};
    p11->C_GetAttributeValue(session, find(session, CKO_PUBLIC_KEY, other), &attribute, 1);
    CK_ECDH1_DERIVE_PARAMS parameters = {CKD_NULL, 0, NULL, encoded ? 67 : 65, encoded ? point : point + 2};
    CK_MECHANISM mechanism = {CKM_ECDH1_DERIVE, &parameters, sizeof parameters};
    CK_OBJECT_HANDLE agreed = 0;
    CK_RV code =
        p11->C_DeriveKey(session, &mechanism, find(session, CKO_PRIVATE_KEY, own), NULL, 0, &agreed);
    if (code != CKR_OK) return code;
    CK_ATTRIBUTE value = {CKA_VALUE, secret, 32};
    code = p11->C_GetAttributeValue(session, agreed, &value, 1);
    return code == CKR_OK ? p11->C_DestroyObject(session, agreed) : code;
}

// Two keys agree on the same secret; a point that is not on the curve is refused.
static void agree(void) {
    p11->C_Initialize(NULL);
    CK_SESSION_HANDLE session = open_session();
    CK_BYTE one[32], other[32];
    say("DeriveKey", derive(session, "work", "free", true, one));
    say("DeriveKey", derive(session, "free", "work", false, other));
    printf("same %d\n", memcmp(one, other, 32) == 0);
    CK_BYTE nowhere[65] = {4, 1};
    CK_ECDH1_DERIVE_PARAMS parameters = {CKD_NULL, 0, NULL, 65, nowhere};
    CK_MECHANISM mechanism = {CKM_ECDH1_DERIVE, &parameters, sizeof parameters};
    CK_OBJECT_HANDLE agreed;
    CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, "work");
    say("DeriveKey", p11->C_DeriveKey(session, &mechanism, key, NULL, 0, &agreed));
    CK_BBOOL yes = CK_TRUE;
    CK_ATTRIBUTE kept = {CKA_TOKEN, &yes, 1};
    say("DeriveKey", p11->C_DeriveKey(session, &mechanism, key, &kept, 1, &agreed));
}

// Keys are neither made, stored, changed nor deleted here.
static void changes(void) {
    p11->C_Initialize(NULL);
    CK_SESSION_HANDLE session;
    say("OpenSession", p11->C_OpenSession(0, CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &session));
    CK_MECHANISM mechanism = {CKM_ECDSA_KEY_PAIR_GEN, NULL, 0};
    CK_OBJECT_HANDLE one, two;
    say("GenerateKeyPair", p11->C_GenerateKeyPair(session, &mechanism, NULL, 0, NULL, 0, &one, &two));
    CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
    CK_ATTRIBUTE template = {CKA_CLASS, &class, sizeof class};
    say("CreateObject", p11->C_CreateObject(session, &template, 1, &one));
    class = CKO_CERTIFICATE;
    say("CreateObject", p11->C_CreateObject(session, &template, 1, &one));
    CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, "work");
    CK_ATTRIBUTE label = {CKA_LABEL, "mine", 4};
    say("SetAttributeValue", p11->C_SetAttributeValue(session, key, &label, 1));
    say("DestroyObject", p11->C_DestroyObject(session, key));
    say("CopyObject", p11->C_CopyObject(session, key, &label, 1, &one));
    printf("there %d\n", find(session, CKO_PRIVATE_KEY, "work") == key);
}

static void limits(void) {
    p11->C_Initialize(NULL);
    CK_SESSION_HANDLE session = 0, last = 0;
    CK_ULONG opened = 0;
    CK_RV code;
    while ((code = p11->C_OpenSession(0, CKF_SERIAL_SESSION, NULL, NULL, &session)) == CKR_OK) {
        last = session;
        opened++;
    }
    printf("opened %lu\n", opened);
    say("OpenSession", code);
    CK_MECHANISM mechanism = {CKM_SHA256, NULL, 0};
    CK_ULONG most = 1 << 20, count = 32;
    CK_BYTE *data = calloc(1, most + 1), digest[32];
    p11->C_DigestInit(last, &mechanism);
    say("Digest", p11->C_Digest(last, data, most + 1, digest, &count));
    p11->C_DigestInit(last, &mechanism);
    say("Digest", p11->C_Digest(last, data, most, digest, &count));
    say("CloseAllSessions", p11->C_CloseAllSessions(0));
    say("CloseSession", p11->C_CloseSession(last));
}

// Writes the handle of a key by a search, before and after a line is read: the key may be deleted meanwhile.
static void stale(const char *label) {
    p11->C_Initialize(NULL);
    CK_SESSION_HANDLE session = open_session();
    CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, label);
    CK_BYTE signature[64];
    say("Sign", sign(session, key, signature));
    char line[8];
    if (fgets(line, sizeof line, stdin) == NULL) exit(72);
    say("Sign", sign(session, key, signature));
    printf("found %d\n", find(session, CKO_PRIVATE_KEY, label) != 0);
    CK_ATTRIBUTE point = {CKA_EC_POINT, NULL, 0};
    say("GetAttributeValue", p11->C_GetAttributeValue(session, key, &point, 1));
    say("Sign", sign(session, key, signature));
}

static void *sign_often(void *failures) {
    CK_SESSION_HANDLE session = open_session();
    for (int round = 0; round < 40; round++) {
        CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, "free");
        if (sign(session, key, (CK_BYTE[64]){0}) != CKR_OK) __atomic_add_fetch((int *)failures, 1, __ATOMIC_SEQ_CST);
    }
    p11->C_CloseSession(session);
    return NULL;
}

// Eight threads with a session each.
static void threads(void) {
    p11->C_Initialize(NULL);
    int failures = 0;
    pthread_t threads[8];
    for (int index = 0; index < 8; index++) pthread_create(&threads[index], NULL, sign_often, &failures);
    for (int index = 0; index < 8; index++) pthread_join(threads[index], NULL);
    printf("failures %d\n", failures);
    say("Finalize", p11->C_Finalize(NULL));
}

int main(int count, char **arguments) {
    if (count < 3) return 64;
    const char *what = arguments[2], *label = count > 3 ? arguments[3] : NULL;
    load(arguments[1]);
    if (strcmp(what, "absent") == 0) absent();
    else if (strcmp(what, "login") == 0) login();
    else if (strcmp(what, "sizes") == 0) sizes(label);
    else if (strcmp(what, "wait") == 0 && count > 4) wait_in(label, arguments[4]);
    else if (strcmp(what, "fork") == 0) forked();
    else if (strcmp(what, "reload") == 0) reloaded(arguments[1]);
    else if (strcmp(what, "agree") == 0) agree();
    else if (strcmp(what, "changes") == 0) changes();
    else if (strcmp(what, "limits") == 0) limits();
    else if (strcmp(what, "threads") == 0) threads();
    else if (strcmp(what, "stale") == 0) stale(label);
    else if (strcmp(what, "sign") == 0) {
        p11->C_Initialize(NULL);
        CK_SESSION_HANDLE session = open_session();
        CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, label);
        printf("found %d\n", key != 0);
        if (key != 0) say("Sign", sign(session, key, (CK_BYTE[64]){0}));
        say("FindObjectsInit", p11->C_FindObjectsInit(session, NULL, 0));
    } else if (strcmp(what, "arguments") == 0) {
        call_all(0, 0);
        p11->C_Initialize(NULL);
        CK_SESSION_HANDLE session = open_session();
        call_all(session, find(session, CKO_PRIVATE_KEY, label));
        printf("survived\n");
        say("Sign", sign(open_session(), find(open_session(), CKO_PRIVATE_KEY, label), (CK_BYTE[64]){0}));
    } else return 64;
    return 0;
}
