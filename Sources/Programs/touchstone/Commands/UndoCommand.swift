import ArgumentParser
import KeychainClient

/// `touchstone undo`: bring an earlier value of a secret back.
struct UndoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "undo",
        abstract: "Bring back the value that a secret had before it was replaced or deleted.",
        discussion: """
            The keychain has to keep such values: touchstone history --keep 10. What the value requires is asked for once, \
            and the secret requires it again. The present value is kept instead, so a second undo brings that one back.

              touchstone undo mail
              touchstone undo mail --to 3
            """
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    @Option(
        help: ArgumentHelp(
            "Which value, as touchstone history NAME counts them; 1 is the newest.",
            valueName: "number"
        )
    )
    var to = 1

    func validate() throws {
        guard to > 0 else { throw ValidationError("--to takes a number from 1 on") }
    }

    func run() throws {
        let context = RemoteKeychain.shared.makeContextNumber()
        let secrets = StoredSecrets()
        let kept = try secrets.keptValue(to, of: name, context: context)
        let shown = Printable.text(name.text)
        let stored = kept.item.modified.map(DateText.local).map { ", stored \($0)" } ?? ""
        if try secrets.restore(kept, as: name, context: context) {
            Output.complain("'\(shown)' is there again\(stored).")
        } else {
            Output.complain("'\(shown)' has an earlier value again\(stored).")
        }
    }
}
