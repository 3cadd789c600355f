import Testing
import TouchstoneTesting

/// What an app finds when it starts: each published listing runs its calls, in its own order, in all of them.
enum Situation: String, CaseIterable, Sendable, CustomTestStringConvertible {
    /// A finger is enrolled, and the keychain is unlocked.
    case ready
    /// The daemon started a moment ago, and nobody has unlocked the keychain since; the app ran before.
    case cold
    /// The keychain was locked; the app ran before.
    case locked
    /// There is no reader.
    case noReader
    /// No finger is enrolled.
    case noFinger
    /// A finger was enrolled after the app made its key.
    case deadKey

    var testDescription: String { rawValue }

    /// A keychain in this situation.
    ///
    /// - Parameter firstRun: What the app did when it first ran, for the situations that come after that.
    /// - Returns: the keychain.
    /// - Throws: an error of starting it, and those of `firstRun`.
    func keychain(after firstRun: () async throws -> Void) async throws -> TemporaryKeychain {
        let keychain = try await TemporaryKeychain(
            reader: self == .noReader ? nil : .image,
            enrolled: self == .noFinger ? [] : [.first]
        )
        switch self {
        case .ready, .noReader, .noFinger: return keychain
        case .cold, .locked, .deadKey: try await keychain.use(firstRun)
        }
        switch self {
        case .cold: try await keychain.cause(.daemonCrash)
        case .locked: try await keychain.cause(.lock)
        case .deadKey: try await keychain.enrol(.second)
        case .ready, .noReader, .noFinger: break
        }
        return keychain
    }
}
