/// Keeps one library context of OpenSSL for tpm2-tss, which makes a new one for every digest, HMAC and random number.
///
/// Filling one takes a millisecond, and a command of a session needs several. tpm2-tss 3 has no setting for it, so
/// `OSSL_LIB_CTX_new` and `OSSL_LIB_CTX_free` are defined here: the dynamic linker finds a program's before a
/// library's. As tpm2-tss's own contexts, the one that is kept reads no configuration file.
#pragma once
