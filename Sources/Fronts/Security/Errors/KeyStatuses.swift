package import KeychainModel

/// The status codes for keys only.
extension Status {
    /// `errSecKeySizeNotAllowed`: the key type does not support the size.
    package static let keySizeNotAllowed = Status(rawValue: errSecKeySizeNotAllowed)
    /// `errSecVerifyFailed`: a signature is not valid.
    package static let verifyFailed = Status(rawValue: errSecVerifyFailed)
}
