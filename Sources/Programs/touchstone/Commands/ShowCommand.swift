import ArgumentParser
import KeychainModel

/// `touchstone show`: show all attributes of a secret, but not its value.
struct ShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show what is known of a secret, without releasing it."
    )

    @Argument(help: ItemName.help, transform: ItemName.init(argument:))
    var name: ItemName

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let secret = try StoredSecrets().find(name)
        if json { return Output.print(secret.json.rendered()) }
        var lines = [
            ("Name:       ", Printable.text(secret.name)),
            ("Requires:   ", secret.accessControl.requirementSentence),
            ("Readable:   ", secret.accessControl.accessibility.sentence),
            ("Created:    ", secret.created.map(DateText.local) ?? "unknown"),
            ("Changed:    ", secret.modified.map(DateText.local) ?? "unknown"),
        ]
        if secret.invalidated != nil {
            let time = secret.lost(DateText.local).map { " on \($0)" } ?? ""
            lines.append(("State:      ", "lost\(time): the enrolled fingers have changed"))
        }
        if let reference = secret.reference { lines.append(("Reference:  ", HexText.of(reference.octets))) }
        for (title, text) in lines { for line in Columns.lines(title, text) { Output.print(line) } }
    }
}

extension Accessibility {
    fileprivate var sentence: String {
        switch self {
        case .whenUnlocked, .whenUnlockedThisDeviceOnly: "while the keychain is unlocked"
        case .whenPasscodeSetThisDeviceOnly: "while the keychain is unlocked and has a passcode"
        case .afterFirstUnlock, .always, .afterFirstUnlockThisDeviceOnly, .alwaysThisDeviceOnly:
            "once the keychain was unlocked, also when it is locked again"
        }
    }
}
