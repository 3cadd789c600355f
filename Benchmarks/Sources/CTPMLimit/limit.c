#include "CTPMLimit.h"
#include <stdlib.h>
#include <string.h>
#include <tss2/tss2_esys.h>
#include <tss2/tss2_tctildr.h>

enum { SECRET = 32, INDEX = 0x01A70000 };

struct tpm_limit {
    TSS2_TCTI_CONTEXT *transport;
    ESYS_CONTEXT *context;
    ESYS_TR primary, session, policy, index;
    TPM2B_DIGEST auth_policy, write_policy, seal_policy;
    TPML_DIGEST write_policies;
    TPM2B_PUBLIC *key_area, *sealed_area;
    TPM2B_PRIVATE *key, *sealed;
    uint64_t commands;
};

/// Sends one command; returns from the function if it fails.
#define SEND(call)                      \
    do {                                \
        limit->commands++;              \
        LOCAL(call);                    \
    } while (0)
#define LOCAL(call)                     \
    do {                                \
        TSS2_RC code = (call);          \
        if (code != 0) return code;     \
    } while (0)
#define NONE ESYS_TR_NONE, ESYS_TR_NONE
#define ALL_NONE ESYS_TR_NONE, ESYS_TR_NONE, ESYS_TR_NONE

static const TPM2B_AUTH authorization = {.size = SECRET, .buffer = {1, 2, 3, 4, 5, 6, 7, [31] = 9}};

static TPM2B_PUBLIC p256(TPMA_OBJECT attributes, const TPM2B_DIGEST *policy) {
    TPM2B_PUBLIC area = {.publicArea = {
        .type = TPM2_ALG_ECC,
        .nameAlg = TPM2_ALG_SHA256,
        .objectAttributes = attributes,
        .parameters.eccDetail = {
            .symmetric.algorithm = TPM2_ALG_NULL,
            .scheme.scheme = TPM2_ALG_NULL,
            .curveID = TPM2_ECC_NIST_P256,
            .kdf.scheme = TPM2_ALG_NULL,
        },
    }};
    if (policy) area.publicArea.authPolicy = *policy;
    return area;
}

static TSS2_RC start(tpm_limit *limit, TPM2_SE type, ESYS_TR *session) {
    const TPMT_SYM_DEF symmetric = {.algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB};
    SEND(Esys_StartAuthSession(limit->context, limit->primary, ESYS_TR_NONE, ALL_NONE, NULL, type, &symmetric,
        TPM2_ALG_SHA256, session));
    return 0;
}

/// Sets the HMAC session to encrypt these parameters.
static TSS2_RC use(tpm_limit *limit, TPMA_SESSION encryption) {
    return Esys_TRSess_SetAttributes(
        limit->context, limit->session, TPMA_SESSION_CONTINUESESSION | encryption, 0xFF);
}

/// Sends the command that the policy session authorises, with these parameters encrypted; the chip then resets the
/// policy.
#define LAST(encryption, call)                                                                         \
    do {                                                                                               \
        LOCAL(Esys_TRSess_SetAttributes(                                                               \
            limit->context, limit->policy, TPMA_SESSION_CONTINUESESSION | (encryption), 0xFF));        \
        SEND(call);                                                                                    \
    } while (0)

static TSS2_RC create(
    tpm_limit *limit, const TPM2B_PUBLIC *area, UINT16 count, TPM2B_PRIVATE **private_part, TPM2B_PUBLIC **public_part) {
    TPM2B_SENSITIVE_CREATE sensitive = {.sensitive = {.userAuth = authorization, .data.size = count}};
    const TPM2B_DATA outside = {0};
    const TPML_PCR_SELECTION registers = {0};
    Esys_Free(*private_part);
    Esys_Free(*public_part);
    *private_part = NULL;
    *public_part = NULL;
    LOCAL(use(limit, TPMA_SESSION_DECRYPT | TPMA_SESSION_ENCRYPT));
    SEND(Esys_Create(limit->context, limit->primary, limit->session, NONE, &sensitive, area, &outside, &registers,
        private_part, public_part, NULL, NULL, NULL));
    return 0;
}

static TSS2_RC define(tpm_limit *limit) {
    const TPM2B_NV_PUBLIC area = {.nvPublic = {
        .nvIndex = INDEX,
        .nameAlg = TPM2_ALG_SHA256,
        .attributes = (TPM2_NT_PIN_FAIL << TPMA_NV_TPM2_NT_SHIFT) | TPMA_NV_POLICYWRITE | TPMA_NV_OWNERREAD
            | TPMA_NV_AUTHREAD | TPMA_NV_NO_DA,
        .authPolicy = limit->write_policy,
        .dataSize = 8,
    }};
    const TPM2B_MAX_NV_BUFFER counts = {.size = 8, .buffer = {[7] = 10}};
    LOCAL(use(limit, TPMA_SESSION_DECRYPT));
    SEND(Esys_NV_DefineSpace(
        limit->context, ESYS_TR_RH_OWNER, limit->session, NONE, &authorization, &area, &limit->index));
    LOCAL(Esys_TR_SetAuth(limit->context, limit->index, NULL));
    SEND(Esys_PolicyNvWritten(limit->context, limit->policy, ALL_NONE, TPM2_NO));
    SEND(Esys_PolicyOR(limit->context, limit->policy, ALL_NONE, &limit->write_policies));
    LAST(0, Esys_NV_Write(limit->context, limit->index, limit->index, limit->policy, NONE, &counts, 0));
    return 0;
}

/// Satisfies the policy with the PIN index and the object's own authorisation value.
static TSS2_RC show_pin(tpm_limit *limit, ESYS_TR policy) {
    LOCAL(Esys_TR_SetAuth(limit->context, limit->index, &authorization));
    LOCAL(use(limit, 0));
    SEND(Esys_PolicySecret(
        limit->context, limit->index, policy, limit->session, NONE, NULL, NULL, NULL, 0, NULL, NULL));
    SEND(Esys_PolicyAuthValue(limit->context, policy, ALL_NONE));
    return 0;
}

static TSS2_RC digest(tpm_limit *limit, ESYS_TR *trial, TPM2B_DIGEST *policy) {
    TPM2B_DIGEST *result = NULL;
    SEND(Esys_PolicyGetDigest(limit->context, *trial, ALL_NONE, &result));
    *policy = *result;
    Esys_Free(result);
    SEND(Esys_FlushContext(limit->context, *trial));
    return 0;
}

static TSS2_RC prepare(tpm_limit *limit) {
    TPM2B_PUBLIC storage = p256(TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN
        | TPMA_OBJECT_USERWITHAUTH | TPMA_OBJECT_NODA | TPMA_OBJECT_RESTRICTED | TPMA_OBJECT_DECRYPT, NULL);
    storage.publicArea.parameters.eccDetail.symmetric =
        (TPMT_SYM_DEF_OBJECT){.algorithm = TPM2_ALG_AES, .keyBits.aes = 128, .mode.aes = TPM2_ALG_CFB};
    const TPM2B_SENSITIVE_CREATE sensitive = {0};
    const TPM2B_DATA outside = {0};
    const TPML_PCR_SELECTION registers = {0};
    SEND(Esys_CreatePrimary(limit->context, ESYS_TR_RH_OWNER, ESYS_TR_PASSWORD, NONE, &sensitive, &storage, &outside,
        &registers, &limit->primary, NULL, NULL, NULL, NULL));
    LOCAL(start(limit, TPM2_SE_HMAC, &limit->session));
    LOCAL(start(limit, TPM2_SE_POLICY, &limit->policy));
    ESYS_TR trial;
    LOCAL(start(limit, TPM2_SE_TRIAL, &trial));
    SEND(Esys_PolicyAuthValue(limit->context, trial, ALL_NONE));
    LOCAL(digest(limit, &trial, &limit->auth_policy));
    LOCAL(start(limit, TPM2_SE_TRIAL, &trial));
    SEND(Esys_PolicyNvWritten(limit->context, trial, ALL_NONE, TPM2_NO));
    LOCAL(digest(limit, &trial, &limit->write_policies.digests[0]));
    // The alternative is the label of the index's owner, which no steps satisfy.
    limit->write_policies.count = 2;
    limit->write_policies.digests[1] = (TPM2B_DIGEST){.size = 32, .buffer = {1}};
    LOCAL(start(limit, TPM2_SE_TRIAL, &trial));
    SEND(Esys_PolicyNvWritten(limit->context, trial, ALL_NONE, TPM2_NO));
    SEND(Esys_PolicyOR(limit->context, trial, ALL_NONE, &limit->write_policies));
    LOCAL(digest(limit, &trial, &limit->write_policy));
    LOCAL(define(limit));
    LOCAL(start(limit, TPM2_SE_TRIAL, &trial));
    LOCAL(show_pin(limit, trial));
    LOCAL(digest(limit, &trial, &limit->seal_policy));
    LOCAL(tpm_limit_remove(limit));
    const TPM2B_PUBLIC key = p256(TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT | TPMA_OBJECT_SENSITIVEDATAORIGIN
        | TPMA_OBJECT_NODA | TPMA_OBJECT_SIGN_ENCRYPT | TPMA_OBJECT_DECRYPT, &limit->auth_policy);
    return create(limit, &key, 0, &limit->key, &limit->key_area);
}

tpm_limit *tpm_limit_open(const char *configuration) {
    tpm_limit *limit = calloc(1, sizeof *limit);
    if (limit && Tss2_TctiLdr_Initialize(configuration, &limit->transport) == 0
        && Esys_Initialize(&limit->context, limit->transport, NULL) == 0 && prepare(limit) == 0) {
        return limit;
    }
    tpm_limit_close(limit);
    return NULL;
}

void tpm_limit_close(tpm_limit *limit) {
    if (!limit) return;
    Esys_Free(limit->key_area);
    Esys_Free(limit->sealed_area);
    Esys_Free(limit->key);
    Esys_Free(limit->sealed);
    Esys_Finalize(&limit->context);
    Tss2_TctiLdr_Finalize(&limit->transport);
    free(limit);
}

uint64_t tpm_limit_commands(const tpm_limit *limit) { return limit->commands; }

uint32_t tpm_limit_seal(tpm_limit *limit) {
    const TPM2B_PUBLIC area = {.publicArea = {
        .type = TPM2_ALG_KEYEDHASH,
        .nameAlg = TPM2_ALG_SHA256,
        .objectAttributes = TPMA_OBJECT_FIXEDTPM | TPMA_OBJECT_FIXEDPARENT,
        .authPolicy = limit->seal_policy,
        .parameters.keyedHashDetail.scheme.scheme = TPM2_ALG_NULL,
    }};
    LOCAL(create(limit, &area, SECRET, &limit->sealed, &limit->sealed_area));
    return define(limit);
}

uint32_t tpm_limit_remove(tpm_limit *limit) {
    LOCAL(use(limit, 0));
    SEND(Esys_NV_UndefineSpace(limit->context, ESYS_TR_RH_OWNER, limit->index, limit->session, NONE));
    return 0;
}

uint32_t tpm_limit_unseal(tpm_limit *limit) {
    ESYS_TR object;
    TPM2B_SENSITIVE_DATA *secret = NULL;
    LOCAL(show_pin(limit, limit->policy));
    SEND(Esys_Load(limit->context, limit->primary, limit->session, NONE, limit->sealed, limit->sealed_area, &object));
    LOCAL(Esys_TR_SetAuth(limit->context, object, &authorization));
    LAST(TPMA_SESSION_ENCRYPT, Esys_Unseal(limit->context, object, limit->policy, NONE, &secret));
    Esys_Free(secret);
    SEND(Esys_FlushContext(limit->context, object));
    return 0;
}

/// Loads the key and sets its authorisation.
static TSS2_RC load_key(tpm_limit *limit, ESYS_TR *key) {
    LOCAL(use(limit, 0));
    SEND(Esys_Load(limit->context, limit->primary, limit->session, NONE, limit->key, limit->key_area, key));
    LOCAL(Esys_TR_SetAuth(limit->context, *key, &authorization));
    SEND(Esys_PolicyAuthValue(limit->context, limit->policy, ALL_NONE));
    return 0;
}

uint32_t tpm_limit_sign(tpm_limit *limit) {
    const TPM2B_DIGEST number = {.size = 32, .buffer = {1, 2, 3}};
    const TPMT_SIG_SCHEME scheme = {.scheme = TPM2_ALG_ECDSA, .details.ecdsa.hashAlg = TPM2_ALG_SHA256};
    const TPMT_TK_HASHCHECK ticket = {.tag = TPM2_ST_HASHCHECK, .hierarchy = TPM2_RH_NULL};
    ESYS_TR key;
    TPMT_SIGNATURE *signature = NULL;
    LOCAL(load_key(limit, &key));
    LAST(TPMA_SESSION_DECRYPT,
        Esys_Sign(limit->context, key, limit->policy, NONE, &number, &scheme, &ticket, &signature));
    Esys_Free(signature);
    SEND(Esys_FlushContext(limit->context, key));
    return 0;
}

uint32_t tpm_limit_agree(tpm_limit *limit) {
    ESYS_TR key;
    TPM2B_ECC_POINT *secret = NULL;
    // Any point of the curve will do: the key's own.
    const TPM2B_ECC_POINT point = {.point = limit->key_area->publicArea.unique.ecc};
    LOCAL(load_key(limit, &key));
    LAST(TPMA_SESSION_DECRYPT | TPMA_SESSION_ENCRYPT,
        Esys_ECDH_ZGen(limit->context, key, limit->policy, NONE, &point, &secret));
    Esys_Free(secret);
    SEND(Esys_FlushContext(limit->context, key));
    return 0;
}
