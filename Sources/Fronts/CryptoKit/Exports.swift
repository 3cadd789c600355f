// `import CryptoKit` brings what swift-crypto has: hashes, ciphers, the software keys.
@_exported public import Crypto
