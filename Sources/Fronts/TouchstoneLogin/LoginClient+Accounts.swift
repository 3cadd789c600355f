internal import Foundation
internal import SecretMemory
public import Touchstone
internal import WebAuthnModel

/// An account that this device is set up for.
public struct LoginAccount: Sendable, Hashable, Identifiable {
    /// The account's id: its user handle on the server, in base64url, which stays the same when its name changes.
    public let id: String
    /// The account's name at the last sign-in with the password.
    public let user: String
    /// This device, as the account's list on the server has it.
    public let device: LoginDevice
    /// Whether the device's key can sign in; false once the enrolled fingers or the passcode changed.
    public let isUsable: Bool
}

/// The accounts of a server for which this device is set up.
extension LoginClient {
    /// The accounts that set this device up, by name; sends no request to the server.
    ///
    /// - Parameter prompt: The text of the prompt for the passcode, which is asked for if the keychain is locked, and only then;
    ///   nil: no prompt is shown.
    /// - Returns: the accounts, whichever one this client has chosen.
    /// - Throws: `TouchstoneError`: `locked` without a prompt, `damaged` if the record of an account cannot be read, until
    ///   ``forgetDevice()``; the errors of a prompt.
    public func accounts(_ prompt: PromptText? = nil) async throws(TouchstoneError) -> [LoginAccount] {
        var accounts: [LoginAccount] = []
        for record in try await store.all(prompt.map { .prompt($0) } ?? .silent) {
            accounts.append(
                LoginAccount(
                    id: try record.account,
                    user: record.user,
                    device: record.device,
                    isUsable: try await keys.isUsable(record.credential)
                )
            )
        }
        return accounts
    }

    /// The same client for one account: for ``state(_:)``, ``signIn(_:)``, ``resume(_:)`` and ``forgetDevice()``.
    ///
    /// A sign-in with the password names its account itself.
    ///
    /// - Parameter id: ``LoginAccount/id``.
    /// - Returns: a client for that account alone.
    public func account(_ id: LoginAccount.ID) -> LoginClient {
        var client = self
        client.chosen = id
        return client
    }
}

/// Reports of keys that have ended.
extension LoginClient {
    /// What ended a key, as the server is told.
    private enum End: String {
        case invalidated
        case deleted
    }

    /// The credentials whose end this process has reported.
    private static let reported = Guarded<Set<String>>([])

    /// Begins to report to the server the keys of this device that have ended; nobody waits for it, no prompt is shown, and what fails
    /// is repeated at the next call.
    func reportEndedKeys() {
        Task {
            guard let records = try? await store.all(.silent),
                let forgotten = try? await store.forgottenDevices()
            else { return }
            // A key that is replaced is forgotten before its successor takes its place.
            let kept = Set(records.map(\.device.id))
            for device in forgotten where !kept.contains(device.id) {
                guard let proofKey = device.proofKey else { continue }
                guard await report(device.id, .deleted, proofKey) else { continue }
                try? await store.noteRemoved(device.id)
            }
            for record in records {
                guard (try? await keys.isUsable(record.credential)) == false else { continue }
                _ = await report(record.device.id, .invalidated, record.proofKey)
            }
        }
    }

    /// Reports the end of a key, once.
    ///
    /// - Returns: whether the server knows of it.
    private func report(_ id: String, _ end: End, _ proofKey: Data) async -> Bool {
        guard Self.reported.withLock({ $0.insert(id).inserted }) else { return false }
        do throws(TouchstoneError) {
            _ = try await api.call(
                "POST",
                "/v1/credentials/\(id)/end",
                .json(["reason": .string(end.rawValue)]),
                prove: keys.prove(proofKey, asking: nil)
            )
            return true
        } catch {
            // The server does not have it, or not of this device: there is nothing to end.
            if error.code == .notFound { return true }
            Self.reported.withLock { _ = $0.remove(id) }
            return false
        }
    }
}
