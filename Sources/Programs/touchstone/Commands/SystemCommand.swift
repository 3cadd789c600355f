import ArgumentParser
import BrokerDriver
import Glibc
import KeychainClient
import KeychainModel
import SystemMigration

/// `touchstone system`: move the keychain to a dedicated account, and back.
struct SystemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "system",
        abstract:
            "Keep the keychain under an account of its own, where no program of the user reaches its files.",
        discussion: """
            In system mode the account touchstone keeps the keychain, in /var/lib/touchstone, and the system's service \
            manager starts its daemon. Root moves it there and back for one user; everything in it moves, also what \
            belongs to this device alone.
            """,
        subcommands: [
            EnableSystemCommand.self, DisableSystemCommand.self, SystemStatusCommand.self,
            SystemCheckCommand.self,
        ]
    )
}

/// Which keychain to move, and how.
struct MoveOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The keychain's user; by default the user who ran sudo or pkexec.",
            valueName: "name"
        )
    )
    var user: String?

    @Option(
        help: ArgumentHelp(
            "The user's own directory of the keychain, where it is neither ~/.local/share/touchstone nor the one it moved from.",
            valueName: "directory"
        ),
        completion: .directory
    )
    var from: String?

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    @Flag(help: "Do not unlock it now: the former keychain stays until the command is run again.")
    var later = false

    /// The user whose keychain root moves by `command`; the account must exist.
    func movedUser(of command: String) throws(CommandError) -> MovedUser {
        try MovedUser.requireRoot(command, from)
        let moved = try MovedUser(named: user, directory: from)
        try moved.requireKeeper()
        return moved
    }

    /// Asks for confirmation before anything is changed.
    func confirm(_ question: String) throws(CommandError) {
        if !yes { try Terminal.confirm(question, otherwise: "nothing was changed") }
    }
}

/// `touchstone system enable`: move the keychain to the dedicated account.
struct EnableSystemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Move a user's keychain to system mode.",
        discussion: """
            Stops the user's daemon, copies the keychain, and asks the user to unlock it once; the old keychain is \
            removed only after everything in the copy has been checked. If interrupted, nothing is lost: running the \
            command again continues, and touchstone system disable reverts it.
            """
    )

    @OptionGroup var options: MoveOptions

    func run() throws {
        let moved = try options.movedUser(of: "enable")
        let places = moved.places
        let progress = Progress("Copying")
        defer { progress.clear() }
        let move = KeychainMove(places, progress: { progress.show(Int($0), Int($1)) })
        let units = SystemUnits(uid: moved.user.uid)
        let standing = try Self.told { () throws(MoveError) in try move.standing() }
        switch standing {
        case .systemUnchecked, .system, .lost, .twofold: break
        case .perUser, .begun, .bypassed, .returned, .enabling, .disabling:
            try Self.requireParts(of: moved)
            if SystemUnits.isThere { try SystemUnits.startBroker() }
            try Self.requireBroker()
            try moved.requireNoOtherDaemon()
            try Self.explain(moved, try Self.told { () throws(MoveError) in try move.hasKeychain() })
            try options.confirm("Move it?")
        }
        if standing == .bypassed {
            if SystemUnits.isThere { try units.disable() }
            units.removeSocket()
        }
        let outcome: KeychainMove.Outcome
        do throws(MoveError) {
            outcome = try move.enable()
        } catch {
            // If an earlier run ended between the move and this step, the units are enabled now.
            if error.code == .enabledAlready, SystemUnits.isThere { try units.enable() }
            throw Self.failure(error)
        }
        progress.clear()
        // A socket made without the service manager also works.
        let socket = Layout.ofSystem(uid: moved.user.uid).socket
        let hasSocket = unsafe access(socket, F_OK) == 0
        guard SystemUnits.isThere || hasSocket else {
            throw CommandError(
                "the keychain was moved, but systemd is not running to start its daemon",
                hint: "start touchstoned --owner \(moved.user.uid) as \(MovedUser.keeper), then run it again",
                exitCode: .notAvailable
            )
        }
        if SystemUnits.isThere { try units.enable() }
        if outcome == .needsCheck {
            if options.later {
                Output.complain(
                    "The former keychain stays in \(Printable.text(places.userDirectory)) until it is run again."
                )
                return
            }
            try moved.check(again: "enable")
        }
        try Self.told { () throws(MoveError) in try move.finishEnabling() }
        Output.complain(
            outcome == .needsCheck
                ? "The keychain is in system mode: \(places.keptDirectory)"
                : "System mode is on for \(moved.user.name), who had no keychain: touchstone setup makes one there."
        )
    }

    /// Explains what the command is about to do.
    private static func explain(_ moved: MovedUser, _ hasKeychain: Bool) throws(CommandError) {
        let (name, own) = (moved.user.name, Printable.text(moved.places.userDirectory))
        guard hasKeychain else {
            Output.complain(
                "\(name) has no keychain in \(own): touchstone setup will make one in system mode."
            )
            Output.complain(
                "For a keychain in another directory (XDG_DATA_HOME), use: --from DIRECTORY/touchstone"
            )
            return
        }
        Output.complain("The keychain of \(name) moves from \(own) to \(moved.places.keptDirectory).")
        Output.complain("Its daemon is stopped; afterwards it is unlocked once, to check it.")
    }

    /// Refuses if a part of system mode is missing: without the broker no program would find its items, and without the
    /// agent no prompt would be drawn.
    private static func requireParts(of moved: MovedUser) throws(CommandError) {
        guard let missing = SystemParts().findings(of: moved.user.uid).first(where: { $0.verdict == .wrong })
        else { return }
        throw CommandError(
            "system mode is not completely installed: \(missing.text); nothing was changed",
            hint: "touchstone system status says what is missing, and what to do",
            exitCode: .notAvailable
        )
    }

    /// Refuses if the broker cannot be asked: it names programs to the daemon, and without it no program would find its
    /// items.
    private static func requireBroker() throws(CommandError) {
        let broker = Broker(at: BrokerAddress(patience: patience))
        guard let fault = broker.waitForFault() else { return }
        let lines = CauseText.lines(fault, nil)
        throw CommandError(
            "\(lines?.message ?? fault.code); nothing was changed",
            hint: lines?.hint,
            exitCode: .notAvailable
        )
    }

    /// How many seconds the broker may take, including a start by the service manager.
    private static let patience = 10

    /// Converts an error of a move to the command's error.
    static func told<R>(_ body: () throws(MoveError) -> R) throws(CommandError) -> R {
        do throws(MoveError) {
            return try body()
        } catch {
            throw failure(error)
        }
    }

    private static func failure(_ error: MoveError) -> CommandError {
        let status: ExitCode =
            switch error.code {
            case .notEnabled, .busy: .notAvailable
            case .enabledAlready: .existsAlready
            case .twoKeychains, .unsafePlace, .full, .changed, .system: .failed
            case .lost: .notFound
            case .notWhole: .damaged
            }
        return CommandError(error.message, hint: error.hint, exitCode: status)
    }
}

/// `touchstone system disable`: move the keychain back to its user.
struct DisableSystemCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Move a user's keychain back from system mode.",
        discussion: """
            Stops the daemon of system mode, copies the keychain back, and asks the user to unlock it once; only then the \
            one in system mode is removed. A former keychain that was never opened in system mode is put aside in the \
            user's directory, as former-1. Secrets that only the enrolled fingers open (--require finger) come back where \
            the same fingers are enrolled by their names: a user's own daemon cannot read their templates, and does \
            not detect a finger that is re-enrolled under the same name while it is not running.
            """
    )

    @OptionGroup var options: MoveOptions

    func run() throws {
        let moved = try options.movedUser(of: "disable")
        let places = moved.places
        let progress = Progress("Copying")
        defer { progress.clear() }
        let move = KeychainMove(places, progress: { progress.show(Int($0), Int($1)) })
        let standing = try EnableSystemCommand.told { () throws(MoveError) in try move.standing() }
        switch standing {
        case .perUser, .begun, .returned, .lost, .twofold: break
        case .system, .systemUnchecked, .bypassed, .enabling, .disabling:
            let text = "The keychain of \(moved.user.name) goes back to \(places.userDirectory)."
            Output.complain(Printable.text(text))
            // In per-user mode the daemon cannot read the sensor's templates.
            Output.complain(
                "There, re-enrolling a finger under the same name may go undetected: secrets that only the enrolled fingers open (--require finger) are bound to the names of the fingers."
            )
            try options.confirm("Move it back?")
            let units = SystemUnits(uid: moved.user.uid)
            if SystemUnits.isThere { try units.disable() }
            units.removeSocket()
        }
        let outcome = try EnableSystemCommand.told { () throws(MoveError) in try move.disable() }
        progress.clear()
        if outcome == .needsCheck {
            if options.later {
                Output.complain("The keychain in \(places.systemDirectory) stays until it is run again.")
                return
            }
            try moved.check(again: "disable")
        }
        try EnableSystemCommand.told { () throws(MoveError) in try move.finishDisabling() }
        Output.complain("The keychain is the user's own again: \(Printable.text(places.userDirectory))")
    }
}

/// `touchstone system status`: show the mode, and what is missing.
struct SystemStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show which mode the keychain is in, where it is, and what system mode lacks.",
        discussion: "The exit status is 0 when nothing failed, otherwise 1."
    )

    @Option(help: ArgumentHelp("The keychain's user; by default yourself.", valueName: "name"))
    var user: String?

    @Option(
        help: ArgumentHelp("The user's own directory of the keychain.", valueName: "directory"),
        completion: .directory
    )
    var from: String?

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let moved = try MovedUser(named: user, directory: from)
        guard ProcessUser.uid == 0 || ProcessUser.uid == moved.user.uid else {
            throw CommandError(
                "only root may look at another user's keychain",
                hint: "sudo touchstone system status",
                exitCode: .notAvailable
            )
        }
        let move = KeychainMove(moved.places)
        let standing = try EnableSystemCommand.told { () throws(MoveError) in try move.standing() }
        let process = try EnableSystemCommand.told { () throws(MoveError) in try move.keepingProcess() }
        let findings = SystemModeChecks.findings(of: moved, standing)
        let assurance = ProcessUser.uid == moved.user.uid ? Self.assurance() : nil
        if json {
            let text = JSONText.object([
                ("user", .text(moved.user.name)), ("standing", .text(String(describing: standing))),
                ("systemMode", .flag(standing.isSystem)),
                (
                    "directory",
                    .text(standing.isSystem ? moved.places.keptDirectory : moved.places.userDirectory)
                ),
                ("daemonProcess", process.map { .number(Int64($0)) } ?? .null),
                ("assurance", .optional(assurance)),
                ("findings", .list(findings.map(\.json))),
            ])
            Output.print(text.rendered())
        } else {
            let place = standing.isSystem ? moved.places.keptDirectory : moved.places.userDirectory
            Output.print("User:       \(Printable.text(moved.user.name))")
            Output.print("Directory:  \(Printable.text(place))")
            Output.print("Daemon:     \(process.map { "process \($0)" } ?? "none uses it now")")
            if let assurance { Output.print("Assurance:  \(assurance)") }
            for finding in findings { for line in finding.lines { Output.print(line) } }
        }
        if findings.contains(where: { $0.verdict == .fail }) { throw ExitCode.failed }
    }

    /// The keychain's assurance; nil if its daemon does not answer.
    private static func assurance() -> String? {
        guard let status = try? RemoteKeychain.shared.status() else { return nil }
        return status.assurance.name
    }
}
