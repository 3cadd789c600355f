// The only target that calls cryptography in C; `Scripts/lint` rejects such calls elsewhere. Keys, digests and plaintext are kept
// in locked memory here, and what the library leaves on the stack and in vector registers is wiped.
//
// The library is the BoringSSL inside swift-crypto, the module `CCryptoBoringSSL`. swift-crypto does not export it as a product;
// it can be imported because SwiftPM exposes the module maps of all transitive dependencies to a target. `Package.swift` says
// which versions of swift-crypto it was tested with. `SelfTest` checks known answers of every operation before a daemon opens a
// keybag.
//
// Why not swift-crypto's public API: it expands the key for each message (`AES.GCM`; opening an item takes four times the work),
// and leaves keys, round keys, plaintext and the last block of a hash in ordinary memory. P-256 does use it
// (`SoftwarePrivateKeys`): the big numbers of the curve are wiped when they are freed, and the stack is wiped around the call.
//
// Why not OpenSSL 3, whose API is stable and which tpm2-tss depends on anyway:
//   * Opening 200 bytes with 60 associated bytes takes 0.34 us here and 0.54 to 0.96 us with OpenSSL's EVP for a new key, and
//     0.21 us and 0.34 to 0.68 us for a key already in use (alternating runs on one machine, AES-NI and AVX2). A list of 10,000
//     items opens 30,000 records, a third of them with a new key: 5 to 15 ms more for a list that takes 18 ms and whose upper
//     bound is three times the limit daemon of `Benchmarks/`.
//   * An expanded key is a plain value here (`EVP_AEAD_CTX`), so it can be kept in locked memory; OpenSSL allocates it on its own
//     heap.
