@_exported import CryptoKit
