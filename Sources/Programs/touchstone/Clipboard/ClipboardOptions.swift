import ArgumentParser

/// The options of the commands that can copy a secret to the clipboard.
struct ClipboardOptions: ParsableArguments {
    @Flag(
        name: [.customShort("c"), .customLong("clip")],
        help: "Copy the secret to the clipboard, which is cleared after a while."
    )
    var copies = false

    @Option(
        name: .customLong("clear-after"),
        help: ArgumentHelp("Seconds until the clipboard is cleared.", valueName: "seconds")
    )
    var seconds = Clipboard.usualSeconds

    func validate() throws {
        guard (1...Clipboard.mostSeconds).contains(seconds) else {
            throw ValidationError("--clear-after takes 1 to \(Clipboard.mostSeconds) seconds")
        }
    }

    /// The clipboard, if the option was given.
    func clipboard() throws(CommandError) -> Clipboard? { copies ? try Clipboard(seconds: seconds) : nil }
}
