import KeychainClient
import KeychainModel

extension StoredSecrets {
    /// Changes what reading secrets requires, in one commit, without reading them.
    ///
    /// Those that require it already stay as they are. One that is missing or lost is refused before a prompt and before any
    /// change.
    func require(_ requirement: Requirement, of names: [ItemName]) throws(CommandError) {
        // One context, so that a passcode which unlocks the keychain counts for the secrets too.
        let context = keychain.makeContextNumber()
        var changed: [(name: ItemName, reference: PersistentReference)] = []
        for name in names {
            let secret = try find(name, context: context)
            guard secret.invalidated == nil else {
                throw failure(KeychainError(.itemNotFound, cause: .invalidated), name)
            }
            guard let reference = secret.reference, Requirement(secret.accessControl) != requirement,
                !changed.contains(where: { $0.reference == reference })
            else { continue }
            changed.append((name, reference))
        }
        guard let first = changed.first?.name else { return }
        let what = changed.count == 1 ? "'\(first.text)'" : "\(changed.count) secrets"
        let count: Int
        do throws(KeychainError) {
            let rule = try requirement.accessControl()
            let reason = "Change what \(what) will require: \(requirement.rawValue)."
            count = try passcodeFirst(reason) { () throws(KeychainError) in
                try update(changed.map(\.reference), rule, context: context, prompt(reason))
            }
        } catch {
            if requirement == .finger, let unbound = ErrorText.describeUnbound(error, count: changed.count) {
                throw unbound
            }
            guard changed.count > 1 else { throw failure(error, first) }
            throw ErrorText.describe(error)
        }
        guard count == changed.count else {
            throw CommandError(
                "\(changed.count - count) of \(changed.count) secrets went meanwhile; the others are changed",
                hint: "touchstone list"
            )
        }
    }
}
