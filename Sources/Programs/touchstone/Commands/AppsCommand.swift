import ArgumentParser
import Glibc
import KeychainClient
import KeychainModel

/// `touchstone apps`: which programs keep items here, and moving a program's items to another program.
struct AppsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "apps",
        abstract:
            "List the programs that keep items here, give a program's items to another, or let it use no fingers.",
        discussion: """
            An app's items belong to the path of its program. When it is moved or a new version has another path, it \
            finds nothing until its items are moved: touchstone apps move OLD NEW
            """,
        subcommands: [ListAppsCommand.self, MoveAppCommand.self, AppFingersCommand.self],
        defaultSubcommand: ListAppsCommand.self
    )
}

/// `touchstone apps list`: the programs and what they keep.
struct ListAppsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract:
            "List the programs that keep items here: how many, when last changed, whether the file exists, and if fingers are off.",
        discussion: """
            On a terminal a table; otherwise one line each, separated by tabs: program, file, passwords, internet \
            passwords, keys, last change, and "no fingers" if they are switched off.
            """
    )

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let owners = try RemoteKeychain.shared.apps()
        if json {
            Output.print(JSONText.list(owners.map(\.json)).rendered())
        } else if isatty(STDOUT_FILENO) == 1 {
            guard !owners.isEmpty else { return Output.complain("No program keeps anything here yet.") }
            var table = Table(headings: ["PROGRAM", "FILE", "PASSWORDS", "INTERNET", "KEYS", "CHANGED", ""])
            for owner in owners { table.append(owner.columns(DateText.local)) }
            for line in table.lines() { Output.print(line) }
        } else {
            for owner in owners {
                Output.print(owner.columns(DateText.iso8601).map(Printable.text).joined(separator: "\t"))
            }
        }
    }
}

extension ItemOwner {
    /// Whether the program's file exists; nil for a group that is not named by a path.
    fileprivate var isThere: Bool? {
        guard group.name.hasPrefix("/") else { return nil }
        return unsafe access(group.name, F_OK) == 0
    }

    fileprivate func count(_ itemClass: ItemClass) -> Int { counts[itemClass] ?? 0 }

    fileprivate func columns(_ date: (Int64) -> String) -> [String] {
        let file = isThere.map { $0 ? "there" : "gone" } ?? "-"
        return [group.name, file]
            + [.genericPassword, .internetPassword, .key].map { String(count($0)) }
            + [lastChange == 0 ? "-" : date(lastChange)] + [allowsFingers ? "" : "no fingers"]
    }

    fileprivate var json: JSONText {
        .object([
            ("program", .text(group.name)),
            ("fileExists", isThere.map(JSONText.flag) ?? .null),
            ("passwords", .number(Int64(count(.genericPassword)))),
            ("internetPasswords", .number(Int64(count(.internetPassword)))),
            ("keys", .number(Int64(count(.key)))),
            ("changed", lastChange == 0 ? .null : .text(DateText.iso8601(microseconds: lastChange))),
            ("fingers", .flag(allowsFingers)),
        ])
    }
}

/// `touchstone apps move`: moves a program's items to another program.
struct MoveAppCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "move",
        abstract: "Give all items of one program to another, with the passcode.",
        discussion: """
            OLD is a name that touchstone apps lists. NEW is the path of the program as it is now, or the name of a \
            group from access-groups.conf. All items are moved or none.
            """
    )

    @Argument(help: "Whose items: a path or a group, as touchstone apps lists it.")
    var old: String

    @Argument(help: "Who gets them: the path of a program, or a group.")
    var new: String

    @Flag(help: "Say what would be moved, and change nothing.")
    var dryRun = false

    func run() throws {
        let (from, to) = (
            try AccessGroup(typed: old), try AccessGroup(typed: new, mustExist: true, resolvesLinks: true)
        )
        guard from != to else {
            throw CommandError(
                "both are the same program",
                hint: "touchstone apps",
                exitCode: .validationFailure
            )
        }
        let request = MoveItems(
            from: from,
            to: to,
            isDryRun: dryRun,
            prompt: PromptFields(origin: .current(), reason: "Give the items of \(from.name) to \(to.name).")
        )
        let outcome = try Self.outcome(of: request)
        guard outcome.clashes.isEmpty else {
            let names = outcome.clashes.map { "'\($0)'" }.joined(separator: ", ")
            throw CommandError(
                "nothing was moved: \(to.name) has items of the same name: \(names)",
                hint: "delete them in one of the two programs first",
                exitCode: .existsAlready
            )
        }
        if dryRun {
            for name in outcome.names { Output.print(Printable.text(name)) }
        }
        let items = outcome.count == 1 ? "1 item" : "\(outcome.count) items"
        Output.complain(dryRun ? "\(items) would be moved." : "\(items) moved.")
    }

    private static func outcome(of request: MoveItems) throws -> MoveReply {
        let progress = Progress("Moving")
        defer { progress.clear() }
        do throws(KeychainError) {
            return try RemoteKeychain.shared.move(request, progress: progress.show)
        } catch {
            guard error.status == .itemNotFound else { throw error }
            throw CommandError(
                "\(request.from.name) keeps nothing here",
                hint: "touchstone apps",
                exitCode: .notFound
            )
        }
    }
}

/// Whether a program may use fingers.
enum FingerUse: String, CaseIterable, ExpressibleByArgument {
    case on, off
}

/// `touchstone apps fingers`: whether a program may use fingers.
struct AppFingersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fingers",
        abstract:
            "Let a program use no fingers: what accepts a finger or the passcode then asks for the passcode.",
        discussion: """
            PROGRAM is a name that touchstone apps lists, or the path of a program. What accepts only a finger cannot be \
            opened by the program until fingers are on again, which takes the passcode. The choice moves with touchstone \
            apps move. A program of the same user that pretends to be another one is not held by it, unless the keychain \
            is in system mode.
            """
    )

    @Argument(help: "The program: a path or a group, as touchstone apps lists it.")
    var program: String

    @Argument(help: "on or off.")
    var use: FingerUse

    func run() throws {
        let group = try AccessGroup(typed: program, resolvesLinks: true)
        let reason = "Let \(group.name) use \(use == .on ? "fingers again" : "no fingers")."
        let prompt = PromptFields(origin: .current(), reason: reason)
        try RemoteKeychain.shared.switchFingers(
            SwitchFingers(group: group, isAllowed: use == .on, prompt: prompt)
        )
        Output.complain("Fingers are \(use.rawValue) for \(Printable.text(group.name)).")
    }
}

extension AccessGroup {
    /// The access group for the typed text; a path must be absolute.
    ///
    /// - Parameters:
    ///   - text: a path or a name.
    ///   - mustExist: whether a path must lead to a file.
    ///   - resolvesLinks: whether a path that leads to a file is resolved, as the kernel names the program that runs it.
    /// - Throws: ``CommandError``.
    fileprivate init(typed text: String, mustExist: Bool = false, resolvesLinks: Bool = false) throws {
        var name = text
        if text.contains("/") {
            if let path = unsafe realpath(text, nil) {
                defer { unsafe free(path) }
                // The old program's path stays as typed: it may be gone, or replaced by a link.
                if resolvesLinks { name = unsafe String(cString: path) }
            } else if mustExist {
                throw CommandError(
                    "there is no program \(text)",
                    hint: "NEW is the path of the program as it is now, or a group without a slash",
                    exitCode: .validationFailure
                )
            }
            guard name.hasPrefix("/") else {
                throw CommandError(
                    "\(text) is not an absolute path",
                    hint: "touchstone apps",
                    exitCode: .validationFailure
                )
            }
        }
        guard let group = AccessGroup(name) else {
            throw CommandError(
                "\(text) cannot name a program",
                hint: "touchstone apps",
                exitCode: .validationFailure
            )
        }
        self = group
    }
}
