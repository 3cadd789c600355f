import Glibc
import KeychainClient
import KeychainModel
import SecretMemory

/// Changes of all secrets under a prefix.
///
/// The daemon changes names one by one. So everything that can be refused is asked before the first change, and a change that
/// fails, or a signal, takes back those before it. What ends this process in between leaves a part, which the same command
/// completes.
extension StoredSecrets {
    /// Renames all secrets under a prefix.
    ///
    /// - Returns: their number.
    func rename(_ from: NamePrefix, to: NamePrefix) throws(CommandError) -> Int {
        // One context, so that a passcode which unlocks the keychain counts for the secrets too.
        let context = keychain.makeContextNumber()
        let change = try PrefixChange(.rename, from, to, among: all(context: context))
        try authenticate(change, context)
        try run(change) { step throws(CommandError) in
            do throws(KeychainError) {
                try setName(step.newName, of: step, change, context)
            } catch {
                throw ErrorText.describe(
                    error,
                    name: error.status == .duplicateItem ? step.newName : step.name
                )
            }
        } undo: { step in
            try? setName(step.name, of: step, change, context, interactionAllowed: false)
        }
        return change.steps.count
    }

    /// Stores all secrets under a prefix a second time, under another one.
    ///
    /// - Returns: their number.
    func copy(_ from: NamePrefix, to: NamePrefix, replaces: Bool) throws(CommandError) -> Int {
        let context = keychain.makeContextNumber()
        let change = try PrefixChange(
            .copy,
            from,
            to,
            among: all(context: context),
            replaces: replaces
        )
        if let bound = change.steps.first(where: { $0.rule.bindsCurrentSet }) {
            try checkStorable(bound.newName, bound.rule, isReplacing: true)
        }
        let released = try read(change, context)
        try run(change) { step throws(CommandError) in
            guard let held = released[step.reference] else { return }
            let secret = try CommandMemory.copy(of: held.secret)
            if replaces {
                try replace(step.newName, secret, step.rule)
            } else {
                try add(step.newName, secret, step.rule)
            }
        } undo: { step in
            if !step.isTaken { _ = try? delete(step.newName) }
        }
        return change.steps.count
    }

    private final class Held {
        let secret: SecretBytes
        init(_ secret: consuming SecretBytes) { self.secret = secret }
    }

    /// Asks for what the secrets require, once for all, by an update that changes nothing.
    private func authenticate(_ change: PrefixChange, _ context: UInt64) throws(CommandError) {
        let count: Int
        do throws(KeychainError) {
            count = try passcodeFirst(change.reason) { () throws(KeychainError) in
                try update(change.steps.map(\.reference), context: context, prompt(change.reason))
            }
        } catch {
            throw ErrorText.describe(error)
        }
        guard count == change.steps.count else {
            throw CommandError(
                "\(change.steps.count - count) of \(change.steps.count) secrets went meanwhile; nothing was renamed",
                hint: "try again"
            )
        }
    }

    /// Releases the secrets of a change, the strictest requirement first, which covers those that require no more.
    private func read(
        _ change: PrefixChange,
        _ context: UInt64
    ) throws(CommandError) -> [PersistentReference: Held] {
        var released: [PersistentReference: Held] = [:]
        for step in change.steps.sorted(by: { $0.rule.releaseOrder < $1.rule.releaseOrder }) {
            released[step.reference] = Held(try read(step.name, reason: change.reason, context: context))
        }
        return released
    }

    private func setName(
        _ name: ItemName,
        of step: PrefixChange.Step,
        _ change: PrefixChange,
        _ context: UInt64,
        interactionAllowed: Bool = true
    ) throws(KeychainError) {
        let count = try update(
            [step.reference],
            attributes: [.account: .string(name.text)],
            context: context,
            prompt(change.reason, interactionAllowed: interactionAllowed)
        )
        guard count > 0 else { throw KeychainError(.itemNotFound) }
    }

    /// Runs all steps; if one fails or a signal comes, `undo` gets each that may have been done, the last one first.
    private func run(
        _ change: PrefixChange,
        step perform: (PrefixChange.Step) throws(CommandError) -> Void,
        undo: (PrefixChange.Step) -> Void
    ) throws(CommandError) {
        guard let signals = CaughtSignals() else {
            throw CommandError("no signals can be caught: \(SystemError.name(of: errno))")
        }
        let progress = Progress(change.verb.progress)
        var tried: [PrefixChange.Step] = []
        do throws(CommandError) {
            for step in change.steps {
                try Self.checkGoesOn(signals)
                tried.append(step)
                do throws(CommandError) {
                    try perform(step)
                } catch {
                    guard error.exitCode == .existsAlready else { throw error }
                    // A secret that got the name meanwhile is another program's.
                    tried.removeLast()
                    throw change.conflict([step.newName])
                }
                progress.showLater(tried.count, change.steps.count)
            }
            progress.clear()
        } catch {
            progress.clear()
            for step in tried.reversed() { undo(step) }
            let outcome = change.failure(error, tried: tried, names: try? all(interactionAllowed: false))
            guard signals.hasCaught else { throw outcome }
            Output.complain(Printable.text(outcome.message))
            signals.deliver()
            throw outcome
        }
    }

    /// Goes on after the stop key; throws after any other signal.
    private static func checkGoesOn(_ signals: borrowing CaughtSignals) throws(CommandError) {
        guard signals.hasCaught else { return }
        guard signals.wasStopped else { throw CommandError("cancelled", exitCode: .cancelled) }
        signals.deliver()
    }
}
