import ArgumentParser
import KeychainClient
import KeychainModel

/// `touchstone setup`: create the keychain.
struct SetupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "setup",
        abstract: "Create the keychain: choose its passcode, note its recovery code."
    )

    @Flag(
        name: .customLong("set-lockout-auth"),
        help: "Also set the TPM's lockout authorization to a code that is shown once; can be done later."
    )
    var setsLockoutAuthorization = false

    func run() throws {
        let keychain = RemoteKeychain.shared
        let isThere = try setsLockoutAuthorization && keychain.status().keybag != .notSetUp
        if !isThere { try keychain.setUp(PromptFields(origin: .current(), reason: "Create the keychain.")) }
        if setsLockoutAuthorization {
            try keychain.protectLockout(
                PromptFields(origin: .current(), reason: "Set the TPM's lockout authorization.")
            )
        }
        let status = try keychain.status()
        Output.print("The keychain is ready. Its assurance is \(status.assurance.name):")
        for reason in status.assuranceReasons {
            for line in Columns.lines("  ", Printable.text(reason)) { Output.print(line) }
        }
        Output.print("Next: touchstone set NAME")
    }
}

/// `touchstone unlock`: enter the passcode once.
struct UnlockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unlock",
        abstract: "Unlock the keychain with the passcode; fingers work from then on."
    )

    func run() throws {
        try RemoteKeychain.shared.unlock(PromptFields(origin: .current(), reason: "Unlock the keychain."))
    }
}

/// `touchstone lock`: forget the keys.
struct LockCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "lock",
        abstract: "Lock the keychain: the passcode is needed again.",
        discussion: """
            With --after the daemon locks it then, also when this terminal is closed by then. A lock before that, also by \
            the screen or sleep, ends it, and another time replaces it. touchstone status shows what is left.

              touchstone unlock && touchstone lock --after 20min
            """
    )

    @Option(
        help: ArgumentHelp("Not now but after this time: 90s, 20min, 8h; at most 168h.", valueName: "time"),
        transform: Self.seconds
    )
    var after: Int?

    @Flag(help: "Lock now; the default.")
    var now = false

    private static func seconds(_ text: String) throws(ValidationError) -> Int {
        do throws(LockTime.Fault) {
            return try LockTime.seconds(text)
        } catch {
            throw switch error {
            case .malformed: ValidationError("a time is a whole number and s, min or h, as in 20min")
            case .outOfRange: ValidationError("a time is from 1s to 168h")
            }
        }
    }

    func validate() throws {
        guard after == nil || !now else { throw ValidationError("--now goes without --after") }
    }

    func run() throws { try RemoteKeychain.shared.lock(after: after) }
}

/// `touchstone passcode`: the passcode commands.
struct PasscodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passcode",
        abstract: "Change the passcode.",
        subcommands: [ChangePasscodeCommand.self]
    )
}

/// `touchstone passcode change`: replace the passcode.
struct ChangePasscodeCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "change",
        abstract: "Change the passcode."
    )

    func run() throws {
        let prompt = PromptFields(origin: .current(), reason: "Change the passcode.")
        try RemoteKeychain.shared.changePasscode(prompt)
        Output.complain("The passcode is changed.")
    }
}

/// `touchstone recover`: regain access when the passcode is lost.
struct RecoverCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "recover",
        abstract: "Open the keychain with its recovery code and choose a new passcode."
    )

    func run() throws {
        let prompt = PromptFields(origin: .current(), reason: "Open the keychain with its recovery code.")
        do throws(KeychainError) {
            try RemoteKeychain.shared.recover(prompt)
        } catch {
            guard error.cause?.known == .damaged else { throw error }
            let described = ErrorText.describe(error)
            throw CommandError(
                "\(described.message), and the recovery code opens nothing of it",
                hint:
                    "touchstone start-over puts it aside; then touchstone backup --restore FILE, or touchstone setup",
                exitCode: described.exitCode
            )
        }
        Output.complain("The keychain is open, and the new passcode is set.")
    }
}
