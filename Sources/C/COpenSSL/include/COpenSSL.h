/// Keeps one OpenSSL library context for tpm2-tss, which creates a new one for every digest, HMAC and random number.
///
/// Creating one takes a millisecond, and a command with a session needs several. tpm2-tss 3 has no setting for it, so
/// this target defines `OSSL_LIB_CTX_new` and `OSSL_LIB_CTX_free`: the dynamic linker prefers the program's symbols
/// to a library's. Like tpm2-tss's own contexts, the kept one reads no configuration file.
#pragma once
