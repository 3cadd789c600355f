// The limit for a TPM: the fewest commands that the same policies need, over one connection, and nothing else.
//
// Every function returns 0 or tpm2-tss's response code. Nothing is verified and nothing is wiped.
#pragma once
#include <stdint.h>

typedef struct tpm_limit tpm_limit;

/// Connects; creates the storage primary, an HMAC and a policy session salted to it, and a signing key. NULL if any of
/// it fails.
tpm_limit *tpm_limit_open(const char *configuration);
void tpm_limit_close(tpm_limit *limit);
/// The number of commands sent so far.
uint64_t tpm_limit_commands(const tpm_limit *limit);

/// Seals 32 bytes to a new PIN index and an authorisation value.
uint32_t tpm_limit_seal(tpm_limit *limit);
/// Unseals them.
uint32_t tpm_limit_unseal(tpm_limit *limit);
/// Removes the PIN index.
uint32_t tpm_limit_remove(tpm_limit *limit);
/// Signs a digest with ECDSA on P-256.
uint32_t tpm_limit_sign(tpm_limit *limit);
/// Derives a shared secret with ECDH on P-256.
uint32_t tpm_limit_agree(tpm_limit *limit);
