import ArgumentParser
import Glibc
import KeychainClient
import KeychainModel
import SSHFormat

/// `touchstone key`: keys that ssh and other programs use and never see.
struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "key",
        abstract: "Make and manage keys that ssh and git use, each under its own rule.",
        discussion: """
            The private key never leaves the keychain, or the TPM if there is one; each use asks for what the key \
            requires, and the box says for which user and host. To use the keys:

              touchstone key create work
              eval "$(touchstone key agent)"
              ssh-copy-id HOST

            Keys are P-256: ecdsa-sha2-nistp256 for ssh. They are not in a backup: make a second one elsewhere.
            """,
        subcommands: [
            ListKeysCommand.self, CreateKeyCommand.self, ShowKeyCommand.self, RenameKeyCommand.self,
            DeleteKeyCommand.self, KeyAgentCommand.self,
        ],
        defaultSubcommand: ListKeysCommand.self
    )

    fileprivate static let nameHelp: ArgumentHelp =
        "The key's name: 1 to 255 bytes of UTF-8, no control characters."
}

/// `touchstone key create`: make a key.
struct CreateKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create",
        abstract: "Make a key and write its public key, as ssh has it.",
        discussion: """
            A key with --for signs in to these hosts alone, by the host keys in known_hosts, and signs nothing else; with \
            the ssh of OpenSSH 8.9 or later, which proves to the agent where it signs in.

              touchstone key create work --for git.example.org
            """
    )

    @Argument(help: KeyCommand.nameHelp, transform: ItemName.init(argument:))
    var name: ItemName

    @Option(help: "What each use requires: finger, passcode, either (or presence) or none.")
    var require = Requirement.either

    @Option(
        name: .customLong("for"),
        parsing: .upToNextOption,
        help: ArgumentHelp("The only hosts that it signs in to, as in known_hosts.", valueName: "host")
    )
    var hosts: [String] = []

    @Option(help: "When it can be used: unlocked, or first-unlock, also while the keychain is locked again.")
    var when = Readability.unlocked

    func run() throws {
        let allowed = try AllowedHosts.find(hosts)
        let made = try StoredKeys().make(name, try require.keyAccessControl(when), for: allowed)
        let ssh = try made.ssh
        Output.print(ssh.line(comment: name.text))
        let place = made.made?.isHardware == true ? "the TPM" : "software"
        let isOffered = RemoteKeychain.shared.agentSocket.map { AgentProbe.offers(ssh, at: $0) }
        Output.complain(
            "Made the key '\(Printable.text(name.text))', in \(place). "
                + (isOffered == true
                    ? "ssh finds it by: eval \"$(touchstone key agent)\""
                    : "The ssh-agent does not offer it: touchstone key agent says why.")
        )
    }
}

/// `touchstone key list`: the keys.
struct ListKeysCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "List the keys: what each requires, where it is, its hosts and its fingerprint.",
        discussion: """
            On a terminal a table; otherwise one line each, separated by tabs: name, requirement, tpm or software (lost \
            if its fingers changed), hosts, creation, fingerprint.
            """
    )

    @Flag(help: "Write JSON, with the public keys.")
    var json = false

    func run() throws {
        let keys = try StoredKeys().all()
        if json { return Output.print(JSONText.list(try keys.map { try $0.json() }).rendered()) }
        guard isatty(STDOUT_FILENO) == 1 else {
            for key in keys {
                Output.print(try key.columns(DateText.iso8601).map(Printable.text).joined(separator: "\t"))
            }
            return
        }
        guard !keys.isEmpty else {
            return Output.complain("There is no key yet; touchstone key create NAME makes one.")
        }
        var table = Table(headings: ["NAME", "REQUIRES", "IN", "FOR", "CREATED", "FINGERPRINT"])
        for key in keys { table.append(try key.columns(DateText.local)) }
        for line in table.lines() { Output.print(line) }
    }
}

/// The forms of a public key.
enum PublicKeyFormat: String, CaseIterable, ExpressibleByArgument {
    case ssh, pem, fingerprint, uri
}

/// `touchstone key show`: a public key.
struct ShowKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Write the public key of a key.",
        discussion: """
            As a line for authorized_keys, unless another --format is given: pem, fingerprint, or uri, by which programs that \
            use PKCS #11 find the private key.
            """
    )

    @Argument(help: KeyCommand.nameHelp, transform: ItemName.init(argument:))
    var name: ItemName

    @Option(help: "ssh, pem, fingerprint or uri.")
    var format = PublicKeyFormat.ssh

    @Flag(help: "Write JSON: the public key in each form, and what the key requires.")
    var json = false

    func run() throws {
        let key = try StoredKeys().find(name)
        if json { return Output.print(try key.json().rendered()) }
        switch format {
        case .ssh: Output.print(try key.ssh.line(comment: key.key.name))
        case .pem: Output.print(try key.pem)
        case .fingerprint: Output.print(try key.ssh.fingerprint)
        case .uri:
            guard let uri = TokenURI.text(of: key.key) else {
                throw CommandError(
                    "the key '\(Printable.text(name.text))' is for certain hosts, which PKCS #11 does not tell",
                    hint: "ssh uses it by the ssh-agent: touchstone key agent",
                    exitCode: .failed
                )
            }
            Output.print(uri)
        }
    }
}

/// `touchstone key rename`: another name.
struct RenameKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rename",
        abstract: "Give a key another name; it stays the same key.",
        aliases: ["mv"]
    )

    @Argument(help: KeyCommand.nameHelp, transform: ItemName.init(argument:))
    var name: ItemName

    @Argument(help: "Its new name.", transform: ItemName.init(argument:))
    var newName: ItemName

    func run() throws {
        try StoredKeys().rename(name, to: newName)
        Output.complain("Renamed.")
    }
}

/// `touchstone key delete`: delete a key.
struct DeleteKeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete",
        abstract: "Delete a key for good: no copy of it signs any more.",
        discussion:
            "Asks once on the terminal, unless --yes is given. Take its public key off your hosts too.",
        aliases: ["rm"]
    )

    @Argument(help: KeyCommand.nameHelp, transform: ItemName.init(argument:))
    var name: ItemName

    @Flag(name: [.short, .long], help: "Do not ask.")
    var yes = false

    func run() throws {
        let keys = StoredKeys()
        let key = try keys.find(name)
        if !yes {
            try Terminal.confirm(
                "Delete the key '\(Printable.text(key.key.name))' for good?",
                otherwise: "nothing was deleted"
            )
        }
        try keys.delete(name)
        // The agent lists it no more, also before the next unlock.
        if let socket = RemoteKeychain.shared.agentSocket { _ = AgentProbe.offers(try key.ssh, at: socket) }
    }
}

/// `touchstone key agent`: where ssh finds the keys.
struct KeyAgentCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent",
        abstract: "Write the shell command by which ssh finds the keys, and start the daemon if needed.",
        discussion: """
            For bash, zsh and sh, or for fish and csh by SHELL; in the shell's start file:

              eval "$(touchstone key agent)"

            With systemd's units the socket is always there, and SSH_AUTH_SOCK can be set once for the whole session; \
            touchstone key agent --path writes the path alone. In ssh's own settings: IdentityAgent PATH
            """
    )

    @Flag(help: "Write the path alone.")
    var path = false

    func run() throws {
        // Starts the daemon.
        _ = try RemoteKeychain.shared.status()
        guard let socket = RemoteKeychain.shared.agentSocket else {
            throw CommandError("there is no home directory", hint: "set HOME to an absolute path")
        }
        guard unsafe access(socket, F_OK) == 0 else {
            throw CommandError(
                "the ssh-agent does not listen at \(socket)",
                hint:
                    "after an upgrade restart the socket's unit, touchstoned.socket, or in system mode touchstoned@UID.socket",
                exitCode: .notAvailable
            )
        }
        if path { return Output.print(socket) }
        let word = ShellWord.escaped(socket)
        let shell = unsafe getenv("SHELL").map { unsafe String(cString: $0) } ?? ""
        if shell.hasSuffix("/fish") {
            Output.print("set -gx SSH_AUTH_SOCK \(word);")
        } else if shell.hasSuffix("csh") {
            Output.print("setenv SSH_AUTH_SOCK \(word);")
        } else {
            Output.print("SSH_AUTH_SOCK=\(word); export SSH_AUTH_SOCK;")
        }
    }
}

extension StoredKey {
    private var place: String {
        guard let made else { return "lost" }
        return made.isHardware ? "tpm" : "software"
    }

    /// The names of its hosts, each once.
    private var hostNames: [String] {
        key.hosts.reduce(into: []) { names, host in
            if !names.contains(host.name) { names.append(host.name) }
        }
    }

    fileprivate func columns(_ date: (Int64) -> String) throws(CommandError) -> [String] {
        [
            key.name, made?.accessControl.requirementName ?? "-", place,
            hostNames.isEmpty ? "any" : hostNames.joined(separator: ","), key.created.map(date) ?? "-",
            try ssh.fingerprint,
        ]
    }

    fileprivate func json() throws(CommandError) -> JSONText {
        .object([
            ("name", .text(key.name)),
            ("requires", .optional(made?.accessControl.requirementName)),
            ("place", .text(place)),
            ("hosts", .list(hostNames.map(JSONText.text))),
            ("created", .optional(key.created.map { DateText.iso8601(microseconds: $0) })),
            ("fingerprint", .text(try ssh.fingerprint)),
            ("ssh", .text(try ssh.line(comment: key.name))),
            ("pem", .text(try pem)),
            ("uri", .optional(TokenURI.text(of: key))),
        ])
    }
}
