public import Foundation
import KeychainClient
import KeychainModel
import Security

/// Saves rights in the keychain, each with a key of its own and an optional secret.
///
/// ```swift
/// _ = try await LARightStore.shared.saveRight(LARight(), identifier: "token", secret: token)
/// // later
/// let right = try await LARightStore.shared.right(forIdentifier: "token")
/// try await right.authorize(localizedReason: "sign in")
/// let token = try await right.secret.rawData
/// ```
///
/// A program can access only its own rights. Errors are ``LAError`` if the user was needed, otherwise `NSError`
/// with the `OSStatus`: `errSecItemNotFound`, `errSecDuplicateItem`. Every handler is called once, on a private
/// queue.
public final class LARightStore: NSObject, Sendable {
    /// The store of this program.
    public class var shared: LARightStore { ofProgram }

    private static let ofProgram = LARightStore()

    override init() { super.init() }

    /// Loads a right; prompts only for the passcode of a locked keychain.
    public func right(
        forIdentifier identifier: String,
        completion handler: @escaping @Sendable (LAPersistedRight?, (any Error)?) -> Void
    ) {
        run(handler) { place throws(KeychainError) in
            let representation = try RightItem(identifier).representation(
                in: place.keychain,
                prompt: place.prompt
            )
            return try LAPersistedRight(identifier: identifier, representation: representation)
        }
    }

    /// Loads a right; prompts only for the passcode of a locked keychain.
    ///
    /// - Throws: an `NSError` with `errSecItemNotFound` if there is no such right.
    public func right(forIdentifier identifier: String) async throws -> LAPersistedRight {
        try await wait { self.right(forIdentifier: identifier, completion: $0) }
    }

    /// Saves a right with a new key and an empty secret.
    public func saveRight(
        _ right: LARight,
        identifier: String,
        completion handler: @escaping @Sendable (LAPersistedRight?, (any Error)?) -> Void
    ) {
        saveRight(right, identifier: identifier, secret: Data(), completion: handler)
    }

    /// Saves a right with a new key and an empty secret.
    ///
    /// - Throws: an `NSError` with `errSecDuplicateItem` if a right of this name exists.
    public func saveRight(_ right: LARight, identifier: String) async throws -> LAPersistedRight {
        try await wait { self.saveRight(right, identifier: identifier, completion: $0) }
    }

    /// Saves a right with a new key and a secret.
    public func saveRight(
        _ right: LARight,
        identifier: String,
        secret: Data,
        completion handler: @escaping @Sendable (LAPersistedRight?, (any Error)?) -> Void
    ) {
        run(handler) { place throws(KeychainError) in
            let flags = AccessControlFlags(rawValue: UInt64(right.requirement.flags.rawValue))
            let rules = { (flags) throws(KeychainError) in
                try AccessControl(accessibility: .whenUnlockedThisDeviceOnly, flags: flags)
            }
            let key = try place.keychain.makeKey(
                MakeKey(accessControl: try rules(flags.union(.privateKeyUsage)), prompt: place.prompt)
            )
            try RightItem(identifier).add(
                key,
                secret: secret,
                accessControl: try rules(flags),
                to: place.keychain,
                prompt: place.prompt
            )
            let saved = try LAPersistedRight(identifier: identifier, representation: key.representation)
            saved.tag = right.tag
            return saved
        }
    }

    /// Saves a right with a new key and a secret.
    ///
    /// - Throws: an `NSError` with `errSecDuplicateItem` if a right of this name exists.
    public func saveRight(
        _ right: LARight,
        identifier: String,
        secret: Data
    ) async throws -> LAPersistedRight {
        try await wait { self.saveRight(right, identifier: identifier, secret: secret, completion: $0) }
    }

    /// Deletes a right, its key and its secret.
    public func removeRight(
        _ right: LAPersistedRight,
        completion handler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        removeRight(forIdentifier: right.identifier, completion: handler)
    }

    /// Deletes a right, its key and its secret.
    ///
    /// - Throws: an `NSError` with `errSecItemNotFound` if it was removed before.
    public func removeRight(_ right: LAPersistedRight) async throws {
        try await removeRight(forIdentifier: right.identifier)
    }

    /// Deletes the right of this name, its key and its secret.
    public func removeRight(
        forIdentifier identifier: String,
        completion handler: @escaping @Sendable ((any Error)?) -> Void
    ) {
        run({ (_: Bool?, error) in handler(error) }) { place throws(KeychainError) in
            try RightItem(identifier).delete(from: place.keychain, prompt: place.prompt)
            return true
        }
    }

    /// Deletes the right of this name, its key and its secret.
    ///
    /// - Throws: an `NSError` with `errSecItemNotFound` if there is no such right.
    public func removeRight(forIdentifier identifier: String) async throws {
        _ = try await wait { reply in
            self.removeRight(forIdentifier: identifier) { reply(true, $0) }
        }
    }

    /// Deletes all rights of this program.
    public func removeAllRights(completion handler: @escaping @Sendable ((any Error)?) -> Void) {
        run({ (_: Bool?, error) in handler(error) }) { place throws(KeychainError) in
            do throws(KeychainError) {
                try RightItem.all.delete(from: place.keychain, prompt: place.prompt)
            } catch  where error.status == .itemNotFound {
            }
            return true
        }
    }

    /// Deletes all rights of this program.
    public func removeAllRights() async throws {
        _ = try await wait { reply in self.removeAllRights { reply(true, $0) } }
    }

    /// Runs `work`, which waits for the daemon, on the private queue.
    private func run<Value: Sendable>(
        _ handler: @escaping @Sendable (Value?, (any Error)?) -> Void,
        _ work: @escaping @Sendable (Place) throws(KeychainError) -> Value
    ) {
        let place = Place()
        Evaluation.later {
            do throws(KeychainError) {
                handler(try work(place), nil)
            } catch {
                handler(nil, error.errorForApps)
            }
        }
    }

    private func wait<Value: Sendable>(
        _ start: (@escaping @Sendable (Value?, (any Error)?) -> Void) -> Void
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            start { value, error in
                if let value, error == nil {
                    continuation.resume(returning: value)
                } else {
                    continuation.resume(throwing: error ?? KeychainError(.internalComponent).errorForApps)
                }
            }
        }
    }
}

/// The caller's keychain and prompt origin.
private struct Place: Sendable {
    let keychain = KeychainConnection.current
    let prompt = PromptFields(origin: KeychainConnection.originOfNow)
}
