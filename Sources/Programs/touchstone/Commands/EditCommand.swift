import ArgumentParser
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory

/// `touchstone edit`: change a secret in an editor.
struct EditCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "edit",
        abstract: "Change a secret in an editor, or write a new one.",
        discussion: """
            Runs $VISUAL or $EDITOR on a file in memory (tmpfs) that nobody else can read and that is wiped afterwards. \
            What the secret requires is asked for once, and stays. An editor may keep copies elsewhere: Vim is told \
            not to if it is found by its name; others are not, and programs of the same user can read the file while \
            it is there.
            """
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    @Option(help: "What reading a new secret requires: finger, passcode, either or none.")
    var require = Requirement.either

    @Option(help: Readability.help)
    var when = Readability.unlocked

    func run() throws {
        // Before the user is prompted.
        guard isatty(STDIN_FILENO) == 1 else {
            throw CommandError(
                "standard input is not a terminal, which an editor needs",
                hint: "store another value: touchstone set --replace \(ShellWord.argument(name.text))",
                exitCode: .notInteractive
            )
        }
        let editor = try Editor()
        let context = RemoteKeychain.shared.makeContextNumber()
        let secrets = StoredSecrets()
        let rule = try require.accessControl(when.accessibility)
        let isNew = try secrets.findIfThere(name, context: context) == nil
        if isNew { try secrets.checkStorable(name, rule, isReplacing: false) }
        let old =
            isNew
            ? try CommandMemory.make(0) { _ in }
            : try secrets.read(name, reason: "Edit '\(name.text)'.", context: context)
        let file = try EditedFile()
        let new = try file.edit(old, with: editor)
        guard !new.matches(old) else {
            return Output.complain(isNew ? "Nothing was stored." : "Nothing was changed.")
        }
        guard new.count > 0 else {
            throw CommandError(
                "the secret is empty; nothing was changed",
                hint: "touchstone delete removes it"
            )
        }
        try save(new) { secret, cancellation throws(CommandError) in
            if isNew { return try secrets.add(name, secret, rule) }
            try secrets.replaceValue(name, secret, context: context, cancellation: cancellation)
        }
        Output.complain("\(isNew ? "Stored" : "Changed") '\(Printable.text(name.text))'.")
    }

    /// Offers another attempt after a failure, so that a cancelled prompt does not lose the typed text.
    private func save(
        _ new: borrowing SecretBytes,
        by store: (consuming SecretBytes, Cancellation?) throws(CommandError) -> Void
    ) throws(CommandError) {
        while true {
            do throws(CommandError) {
                return try saveOnce(new, by: store)
            } catch {
                Output.complain("error: \(Printable.text(error.message)); the change is not saved")
                guard let terminal = Terminal() else { throw error }
                let answer = try terminal.ask("Try again? [Y/n] ") ?? "n"
                guard ["\n", "y\n", "Y\n", "yes\n"].contains(answer) else { throw error }
            }
        }
    }

    /// Saves the text, unless a signal takes the prompt away; the interrupt key does no more than that.
    private func saveOnce(
        _ new: borrowing SecretBytes,
        by store: (consuming SecretBytes, Cancellation?) throws(CommandError) -> Void
    ) throws(CommandError) {
        let copy = try CommandMemory.copy(of: new)
        guard let signals = CaughtSignals() else { return try store(copy, nil) }
        let cancellation = Cancellation()
        let watch = signals.whenCaught { cancellation.cancel() }
        defer { extendLifetime(watch) }
        do throws(CommandError) {
            try store(copy, cancellation)
        } catch {
            if signals.hasCaught, !signals.wasInterrupted { signals.deliver() }
            throw error
        }
    }
}
