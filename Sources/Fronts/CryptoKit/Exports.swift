// `import CryptoKit` also provides swift-crypto's API: hashes, ciphers and software keys.
@_exported public import Crypto
