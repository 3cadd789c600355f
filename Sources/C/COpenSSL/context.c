#define _GNU_SOURCE
#include "COpenSSL.h"
#include <dlfcn.h>
#include <pthread.h>

typedef struct ossl_lib_ctx_st OSSL_LIB_CTX;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static OSSL_LIB_CTX *kept;
static void (*libcrypto_free)(OSSL_LIB_CTX *);

static void make(void) {
    OSSL_LIB_CTX *(*libcrypto_new)(void) = (OSSL_LIB_CTX * (*)(void)) dlsym(RTLD_NEXT, "OSSL_LIB_CTX_new");
    libcrypto_free = (void (*)(OSSL_LIB_CTX *))dlsym(RTLD_NEXT, "OSSL_LIB_CTX_free");
    if (libcrypto_new) kept = libcrypto_new();
}

OSSL_LIB_CTX *OSSL_LIB_CTX_new(void) {
    pthread_once(&once, make);
    return kept;
}

void OSSL_LIB_CTX_free(OSSL_LIB_CTX *context) {
    pthread_once(&once, make);
    if (context != kept && libcrypto_free) libcrypto_free(context);
}
