package import KeychainModel

/// The statuses that only keys have.
extension Status {
    /// `errSecKeySizeNotAllowed`: the key's type has no such size.
    package static let keySizeNotAllowed = Status(rawValue: errSecKeySizeNotAllowed)
    /// `errSecVerifyFailed`: a signature is not valid.
    package static let verifyFailed = Status(rawValue: errSecVerifyFailed)
}
