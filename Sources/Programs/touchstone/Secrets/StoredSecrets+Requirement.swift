import ArgumentParser
import KeychainClient
import KeychainModel

extension StoredSecrets {
    /// Changes what reading secrets requires, in one commit, without reading them.
    ///
    /// Those that require it already stay as they are. One that is missing or lost is refused before a prompt and before any
    /// change.
    ///
    /// - Parameters:
    ///   - requirement: what reading them is to require.
    ///   - readability: when they are to be readable; nil to leave that as it is.
    ///   - names: the secrets.
    /// - Throws: ``CommandError``, also if they are to stay readable as they are and differ in it.
    func require(_ requirement: Requirement, _ readability: Readability? = nil, of names: [ItemName])
        throws(CommandError)
    {
        // One context, so that a passcode which unlocks the keychain counts for the secrets too.
        let context = keychain.makeContextNumber()
        var changed: [(name: ItemName, reference: PersistentReference, accessibility: Accessibility)] = []
        for name in names {
            let secret = try find(name, context: context)
            guard secret.invalidated == nil else {
                throw failure(KeychainError(.itemNotFound, cause: .invalidated), name)
            }
            let rule = secret.accessControl
            let accessibility =
                readability?.accessibility(inPlaceOf: rule.accessibility) ?? rule.accessibility
            guard let reference = secret.reference,
                Requirement(rule) != requirement || accessibility != rule.accessibility,
                !changed.contains(where: { $0.reference == reference })
            else { continue }
            changed.append((name, reference, accessibility))
        }
        guard let (first, _, accessibility) = changed.first else { return }
        // One rule for all of them, in one commit.
        if let other = changed.first(where: { $0.accessibility != accessibility }) {
            throw CommandError(
                "'\(first.text)' and '\(other.name.text)' differ in when they can be read; nothing was changed",
                hint: "say it with --when unlocked or --when first-unlock",
                exitCode: .validationFailure
            )
        }
        let what = changed.count == 1 ? "'\(first.text)'" : "\(changed.count) secrets"
        let count: Int
        do throws(KeychainError) {
            let rule = try requirement.accessControl(accessibility)
            let reason = "Change what \(what) will require: \(rule.ruleName)."
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
