import ArgumentParser
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory

/// Renaming secrets, and errors about missing names.
extension StoredSecrets {
    /// The maximum number of names searched for a similar one: 3 ms.
    private static let mostGuessed = 1000

    /// Throws if a name already exists.
    func checkFree(_ name: ItemName) throws(CommandError) {
        guard try isTaken(name) else { return }
        throw CommandError(
            "there is a secret named '\(name.text)' already",
            hint: "choose another name, or delete that one first: touchstone delete",
            exitCode: .existsAlready
        )
    }

    private func isTaken(_ name: ItemName) throws(CommandError) -> Bool {
        do throws(KeychainError) {
            _ = try keychain.copy(
                CopyItems(
                    query: query(name, returns: .persistentRef),
                    prompt: prompt("Look up '\(name.text)'.")
                )
            )
            return true
        } catch {
            if error.status == .itemNotFound { return false }
            throw ErrorText.describe(error, name: name)
        }
    }

    /// Throws if storing a secret would be refused as far as can be known: before the user types it.
    func checkStorable(
        _ name: ItemName,
        _ rule: AccessControl,
        isReplacing: Bool
    ) throws(CommandError) {
        guard try !isTaken(name) || isReplacing else {
            throw ErrorText.describe(KeychainError(.duplicateItem), name: name)
        }
        guard rule.bindsCurrentSet else { return }
        let fault: AuthenticationError?
        do throws(KeychainError) {
            fault = try keychain.canEvaluatePolicy(Int64(AuthenticationPolicy.biometrics.rawValue)).error
        } catch {
            throw ErrorText.describe(error, name: name)
        }
        // A finger that waits for the passcode keeps nobody from storing.
        guard let fault, fault.code != .biometryLockout else { return }
        throw ErrorText.describe(KeychainError(fault), storing: name, rule)
    }

    /// Renames a secret, in one commit.
    func rename(_ name: ItemName, to newName: ItemName) throws(CommandError) {
        do throws(KeychainError) {
            let request = UpdateItems(
                query: query(name),
                attributes: [.account: .string(newName.text)],
                accessControl: nil,
                data: nil,
                prompt: prompt("Rename '\(name.text)' to '\(newName.text)'.")
            )
            try keychain.update(request)
        } catch {
            throw failure(error, error.status == .duplicateItem ? newName : name)
        }
    }

    /// Replaces the value of a secret, and keeps the former one if the keychain does; its requirement stays.
    func replaceValue(
        _ name: ItemName,
        _ secret: consuming SecretBytes,
        context: UInt64? = nil,
        cancellation: Cancellation? = nil
    ) throws(CommandError) {
        let kept = try keeping(name, .replaced, reason: "Change '\(name.text)'.", context: context)
        do throws(KeychainError) {
            let request = UpdateItems(
                query: query(name),
                attributes: [:],
                accessControl: nil,
                data: secret,
                former: kept?.attributes,
                context: context,
                prompt: prompt("Change '\(name.text)'.")
            )
            try keychain.update(request, cancellation: cancellation)
        } catch {
            throw failure(error, name)
        }
        if let kept { try prune(kept.setting) }
    }

    /// Deletes secrets permanently, with what is kept of them.
    ///
    /// - Returns: whether hardware counted the deletion, if it counts any.
    func deleteForGood(_ names: [ItemName]) throws(CommandError) -> Bool {
        var kept: [KeptValue] = []
        for name in names { kept += try keptValues(of: name) }
        let isCounted = try delete(names)
        try delete(kept)
        return isCounted
    }

    /// Deletes secrets permanently, all or none; what is kept of them stays.
    ///
    /// - Returns: whether hardware counted the deletion, if it counts any.
    func delete(_ names: [ItemName]) throws(CommandError) -> Bool {
        if names.count == 1, let name = names.first { return try delete(name) }
        var references: [PersistentReference] = []
        for name in names {
            guard let reference = try find(name).reference else { continue }
            if !references.contains(reference) { references.append(reference) }
        }
        do throws(KeychainError) {
            return try keychain.delete(
                DeleteItems(query: query(references), prompt: prompt("Delete \(references.count) secrets."))
            ).isCounted
        } catch {
            throw ErrorText.describe(error)
        }
    }

    /// An error about a secret in words; for a missing name, with the most similar one.
    func failure(_ error: KeychainError, _ name: ItemName) -> CommandError {
        let described = ErrorText.describe(error, name: name)
        guard error.status == .itemNotFound, error.cause == nil, let meant = nearest(to: name) else {
            return described
        }
        return CommandError(
            described.message,
            hint: "did you mean '\(meant)'? touchstone list names all",
            exitCode: described.exitCode
        )
    }

    /// The existing name most similar to a missing one, found without a prompt.
    ///
    /// Only if a user reads it: a program that checks for a secret does not pay for the search.
    private func nearest(to name: ItemName) -> String? {
        guard isatty(STDERR_FILENO) == 1 else { return nil }
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string(Self.service)],
            limit: .count(Self.mostGuessed),
            returns: .attributes
        )
        let request = CopyItems(query: query, prompt: prompt("List the secrets.", interactionAllowed: false))
        guard let results = try? keychain.copy(request) else { return nil }
        return Likeness.nearest(to: name.text, among: secrets(of: results).map(\.name))
    }
}
