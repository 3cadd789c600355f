import SecretMemory

/// A secret on its way between a message and the keychain, for the first that takes it.
final class HeldSecret: Sendable {
    /// How many bytes it has.
    let count: Int
    private let secret: Guarded<SecretBytes?>

    init(_ secret: consuming SecretBytes) {
        count = secret.count
        self.secret = Guarded(secret)
    }

    /// - Throws: ``BusFault`` if it was taken before.
    func take() throws(BusFault) -> SecretBytes {
        guard let secret = secret.withLock({ $0.take() }) else { throw .failed("the secret was taken") }
        return secret
    }
}
