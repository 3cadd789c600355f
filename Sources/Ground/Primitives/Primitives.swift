// The one target that calls C's cryptography; `Scripts/lint` refuses it anywhere else. Keys, digests and plaintext are in locked
// memory here, and what the library leaves on the stack and in the vector registers is wiped.
//
// The library is the BoringSSL inside swift-crypto, the module `CCryptoBoringSSL`. swift-crypto does not export it as a product:
// it is found because SwiftPM shows a target the module maps of everything below its dependencies, and `Package.swift` says
// which versions of swift-crypto it was tried with. `SelfTest` runs known answers through every operation before a daemon opens a
// keybag.
//
// Why not swift-crypto's public API: it expands the key for each message (`AES.GCM`, four times the work of opening an item),
// and leaves keys, round keys, plaintext and the last block of a hash in ordinary memory. P-256 is used by it all the same
// (`SoftwarePrivateKeys`): the numbers of a curve are wiped when they are freed, and the stack is wiped around the call.
//
// Why not OpenSSL 3, whose interface is stable and which tpm2-tss brings anyway:
//   * Opening 200 bytes with 60 associated ones takes 0.34 us here and 0.54 to 0.96 us by its EVP where the key is new, and 0.21
//     and 0.34 to 0.68 us where it is not (runs by turns on one machine, AES-NI and AVX2). A list of 10,000 items opens
//     30,000 times, a third of them with a new key: 5 to 15 ms more for a list that takes 18 ms, when three times what the limit
//     daemon of `Benchmarks/` takes is its bound.
//   * A key's expansion is a value here (`EVP_AEAD_CTX`), so it lies in locked memory; OpenSSL's lies on a heap of its own.
