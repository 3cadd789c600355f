import ArgumentParser
import Glibc
import KeychainClient
import KeychainModel
import SecretServiceModel

/// `touchstone secrets`: this keychain as the one of other programs.
struct SecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "secrets",
        abstract:
            "Let other programs keep their secrets here: browsers, git, mail programs and all that use libsecret.",
        discussion: """
            They find this keychain as org.freedesktop.secrets on the session bus, where GNOME Keyring or KWallet is \
            otherwise. Without a rule every program of yours can read such a secret, as there; touchstone protect puts \
            one behind a finger or the passcode.

              touchstone secrets try           in one shell, nothing else changes
              touchstone secrets enable        for good; touchstone secrets disable goes back
            """,
        subcommands: [
            SecretsStatusCommand.self, ListServiceSecretsCommand.self, ImportSecretsCommand.self,
            TrySecretsCommand.self, EnableSecretsCommand.self, DisableSecretsCommand.self,
        ],
        defaultSubcommand: SecretsStatusCommand.self
    )
}

/// `touchstone secrets status`: who serves other programs.
struct SecretsStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show which program serves other programs' secrets now, and whether this one is enabled."
    )

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let path = try SecretsDoorProgram.path()
        let owner = try SecretsDoorProgram.owner()
        let isEnabled = ServiceFiles.isOurs(try ServiceFiles.all(path)[0]) == true
        if json {
            let (name, process): (String?, Int64?) =
                switch owner {
                case .touchstone(let process): ("touchstone-secrets", Int64(process))
                case .other(let name, let process): (name, Int64(process))
                case .nobody, .noBus: (nil, nil)
                }
            let report = JSONText.object([
                ("owner", .optional(name)), ("process", process.map(JSONText.number) ?? .null),
                ("enabled", .flag(isEnabled)),
            ])
            return Output.print(report.rendered())
        }
        switch owner {
        case .touchstone(let process): Output.print("Served by this keychain, process \(process).")
        case .other(let name, let process):
            Output.print("Served by \(Printable.text(name)), process \(process): its secrets are not here.")
        case .nobody: Output.print("Not served now; the first program that asks starts it.")
        case .noBus: Output.print("There is no session bus here.")
        }
        switch (owner, isEnabled) {
        case (.other, true):
            Output.print("Enabled: it takes over once that program ends, at the latest at the next login.")
        case (_, true): Output.print("Enabled: touchstone secrets disable goes back.")
        case (_, false): Output.print("Not enabled: touchstone secrets enable, or touchstone secrets try.")
        }
    }
}

/// `touchstone secrets list`: the secrets of other programs.
struct ListServiceSecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the secrets of other programs, what each requires, and the rules; never a secret.",
        discussion: """
            On a terminal a table; otherwise one line each, separated by tabs: name, requirement, collection, label, \
            last change, attributes.
            """
    )

    @Option(help: AttributePair.help)
    var match: [AttributePair] = []

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let secrets = ServiceSecrets()
        let items = try secrets.items(having: AttributePair.dictionary(match))
        let rules = try secrets.rules()
        if json {
            let readers = try secrets.readers()
            let report = JSONText.object([
                ("secrets", .list(items.map { $0.json(readBy: readers[$0.name]?.files ?? []) })),
                ("rules", .list(rules.map(\.json))),
            ])
            return Output.print(report.rendered())
        }
        guard isatty(STDOUT_FILENO) == 1 else {
            for item in items {
                Output.print(
                    item.columns(DateText.iso8601, name: item.name).map(Printable.text).joined(
                        separator: "\t"
                    )
                )
            }
            return
        }
        if items.isEmpty { Output.complain("No program keeps such a secret here.") }
        if !items.isEmpty {
            var table = Table(headings: ["NAME", "REQUIRES", "COLLECTION", "LABEL", "CHANGED", "ATTRIBUTES"])
            for item in items {
                table.append(item.columns(DateText.local, name: String(item.name.prefix(8))))
            }
            for line in table.lines() { Output.print(line) }
        }
        for rule in rules {
            Output.print("Rule: \(Printable.text(rule.text))")
        }
    }
}

/// `touchstone secrets import`: from the keyring that serves now.
struct ImportSecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Copy the secrets of the keyring that serves other programs now; nothing is removed there.",
        discussion: """
            Reads GNOME Keyring, KWallet or another one as its client: what is locked is asked for by its own prompt. One \
            that is here already stays as it is, so it can be repeated.

              touchstone secrets import --dry-run
              touchstone secrets import && touchstone secrets enable
            """
    )

    @Flag(help: "Only tell which secrets would come, by name.")
    var dryRun = false

    func run() throws {
        let door = try SecretsDoorProgram.path()
        try RemoteKeychain.shared.unlock(
            PromptFields(origin: .current(), reason: "Copy the secrets of another keyring.")
        )
        let child = try ChildProgram(door, [door, "--import"] + (dryRun ? ["--dry-run"] : []))
        let status = child.wait()
        guard status == 0 else { throw ExitCode(status) }
    }
}

/// `touchstone secrets try`: in one shell.
struct TrySecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "try",
        abstract: "Run a command, or a shell, whose programs keep their secrets here; nothing else changes.",
        discussion: """
            It gets a session bus of its own with this keychain on it, and ends with the command. Programs on the desktop \
            do not see it, and the command does not see the desktop's services.

              touchstone secrets try secret-tool lookup user alice
            """
    )

    @Argument(
        parsing: .captureForPassthrough,
        help: ArgumentHelp("The command and its arguments; your shell without one.", valueName: "command")
    )
    var command: [String] = []

    func run() throws {
        let door = try SecretsDoorProgram.path()
        let session = try Executable("dbus-run-session").path
        // A program that asks for a secret would only learn that it is locked.
        guard try RemoteKeychain.shared.status().keybag != .notSetUp else {
            throw ErrorText.describe(KeychainError(.notAvailable, cause: .notSetUp))
        }
        let words = command.first == "--" ? Array(command.dropFirst()) : command
        let shell = Environment.value("SHELL") ?? "/bin/sh"
        let program = try Executable(words.first ?? shell)
        let script = """
            door=$1; shift
            "$door" & started=$!
            while kill -0 $started 2>/dev/null && ! "$door" --owner | grep -q .; do sleep 0.05; done
            "$@"; status=$?
            kill $started 2>/dev/null; wait $started 2>/dev/null
            exit $status
            """
        let child = try ChildProgram(
            session,
            [session, "--", "/bin/sh", "-c", script, "sh", door, program.path] + words.dropFirst()
        )
        let status = child.wait()
        guard status == 0 else { throw ExitCode(status) }
    }
}

/// `touchstone secrets enable`: for good.
struct EnableSecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enable",
        abstract: "Make this keychain the one of other programs, from the next login on.",
        discussion: """
            Writes two files into your own folders; nothing of another keyring is removed, and its secrets stay there. \
            With KWallet, switch its own service off too: in kwalletrc, [org.freedesktop.secrets] apiEnabled=false
            """
    )

    func run() throws {
        let files = try ServiceFiles.all(try SecretsDoorProgram.path())
        try ServiceFiles.write(files)
        for file in files { Output.complain("Wrote \(Printable.text(file.path))") }
        if case .other(let name, let process) = try SecretsDoorProgram.owner() {
            Output.complain(
                "\(Printable.text(name)) (process \(process)) still serves: log out and in, or end it if nothing uses it."
            )
        } else {
            Output.complain("The next program that asks for a secret gets this keychain.")
        }
    }
}

/// `touchstone secrets disable`: back to the former keyring.
struct DisableSecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "disable",
        abstract: "Go back to the keyring that was there before; the secrets that were stored here stay here."
    )

    func run() throws {
        let files = try ServiceFiles.all(try SecretsDoorProgram.path())
        guard try ServiceFiles.remove(files) > 0 else { return Output.complain("It was not enabled.") }
        if case .touchstone(let process) = try SecretsDoorProgram.owner() {
            kill(process, SIGTERM)
        }
        Output.complain("Disabled. touchstone secrets list shows what was stored here.")
    }
}

extension SecretItem {
    /// What reading it requires, as it is written on the command line.
    var requirementName: String { rule?.requirementName ?? Requirement.nothing.rawValue }

    fileprivate func columns(_ date: (Int64) -> String, name: String) -> [String] {
        [
            name, requirementName, collection, content.label, date(modification),
            AttributePair.text(content.attributes),
        ]
    }

    /// `programs` are those that were let through to it.
    fileprivate func json(readBy programs: [ProgramFile]) -> JSONText {
        .object([
            ("name", .text(name)), ("requires", .text(requirementName)),
            ("window", reading.window.map { JSONText.number(Int64($0)) } ?? .null),
            ("waits", .flag(reading.waits)), ("collection", .text(collection)),
            ("label", .text(content.label)), ("storedBy", .optional(readers.files.first?.path)),
            ("letThrough", .list(programs.map { .text($0.path) })),
            ("created", .text(DateText.iso8601(microseconds: creation))),
            ("modified", .text(DateText.iso8601(microseconds: modification))),
            (
                "attributes",
                .object(content.attributes.sorted { $0.key < $1.key }.map { ($0.key, .text($0.value)) })
            ),
        ])
    }
}

extension ProtectionRule {
    private var programs: [String] { if case .programs(let names) = audience { names } else { [] } }

    /// The rule in words: `passcode for server=bank.example, one gesture for 10 min`.
    fileprivate var text: String {
        var text = "\(accessControl.requirementName) for "
        text += attributes.isEmpty ? "all secrets" : AttributePair.text(attributes)
        switch audience {
        case .everyone: break
        case .programs(let names): text += ", read by \(names.joined(separator: ", ")) or what they start"
        case .strangers(let includesProgramKeys):
            text += ", once for each program that did not store it"
            if includesProgramKeys { text += ", browsers' keys too" }
        }
        if let window = reading.window {
            text += ", one gesture for \(DateText.duration(seconds: Int64(window)))"
        }
        return text + (reading.waits ? ", reads wait" : "")
    }

    fileprivate var json: JSONText {
        .object([
            ("requires", .text(accessControl.requirementName)),
            ("programs", .list(programs.map(JSONText.text))), ("foreign", .flag(isForStrangers)),
            ("window", reading.window.map { JSONText.number(Int64($0)) } ?? .null),
            ("waits", .flag(reading.waits)),
            ("attributes", .object(attributes.sorted { $0.key < $1.key }.map { ($0.key, .text($0.value)) })),
        ])
    }
}
