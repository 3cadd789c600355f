import ArgumentParser
import Glibc
import KeychainModel
import SecretMemory

/// `git-credential-touchstone`: git's passwords and tokens, by git's own protocol (gitcredentials(7)).
struct GitCredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "git-credential",
        abstract: "Keep git's passwords and tokens; git calls it.",
        discussion: """
            Under the name git-credential-touchstone (a link to this program) it is git's helper `touchstone`:

              git config --global credential.helper touchstone

            A new credential needs nothing while the keychain is unlocked, so that fetches in scripts go on. Another \
            requirement is named by --require, by \(CredentialStore.variable) or, for one place or all, by \
            `git config touchstone.require finger`; a stored one keeps its own until another is named. A prompt that was cancelled, and a keychain that cannot be opened, \
            end git's command: it does not ask on the terminal as if nothing were stored.
            """
    )

    @Option(help: "What a new credential requires: finger, passcode, either or none.")
    var require: Requirement?

    @Argument(help: "get, store or erase; anything else is ignored, as git wants it.")
    var operation: String

    func run() throws {
        switch operation {
        case "capability":
            Output.print("version 0")
            Output.print("capability authtype")
        case "get", "store", "erase": try serve()
        default: break
        }
    }

    private func serve() throws {
        guard let text = try Descriptor.read(STDIN_FILENO, upTo: GitCredential.longest) else {
            throw CommandError("the credential cannot be read, or is too long")
        }
        let asked = try GitCredential(text)
        guard asked["protocol"] != nil, asked["host"] != nil || asked["path"] != nil else { return }
        do {
            switch operation {
            case "get": try get(asked)
            case "store": try store(asked)
            default: try erase(asked)
            }
        } catch let error as KeychainError {
            let described = ErrorText.describe(error)
            // A credential may be stored but cannot be read now: git must not continue as if there were none.
            let isHidden: [ExitCode] = [
                .cancelled, .authenticationFailed, .lockedOut, .notInteractive, .damaged,
            ]
            if operation == "get", isHidden.contains(described.exitCode) { Output.print("quit=1") }
            throw described
        }
    }

    private func get(_ asked: GitCredential) throws {
        let store = CredentialStore()
        guard let (credential, _) = try Self.matches(asked, in: store).first else { return }
        let secret = try store.read(credential, reason: "Give git '\(credential.item.name)'.")
        let stored = try GitCredential(details: credential.details, payload: secret)
        let answer = try stored.answer(to: asked)
        try unsafe answer.withUnsafeBytes { octets throws(CommandError) in try unsafe Output.write(octets) }
    }

    private func store(_ asked: GitCredential) throws {
        let hasPassword = asked["username"] != nil && asked.hasSecret("password")
        guard hasPassword || asked["authtype"] != nil && asked.hasSecret("credential"),
            asked["ephemeral"].map({ $0 == Array("1".utf8) || $0 == Array("true".utf8) }) != true
        else { return }
        guard let password = try asked.comparedSecret() else { return }
        // Before anything is looked up: a misspelt requirement changes nothing.
        let requirement = try requirement(for: asked)
        let store = CredentialStore()
        // Exactly the same one: a credential for a path differs from that of the host.
        let former = try Self.matches(asked, in: store, withInvalidated: true).first { entry in
            entry.details["path"] == asked["path"] && entry.details["username"] == asked["username"]
        }
        let wanted = CredentialStore.Wanted(
            name: try CredentialName.name(asked.name),
            label: asked.label,
            details: asked.details,
            secret: try asked.payload(),
            password: password,
            requirement: requirement
        )
        try store.store(wanted, inPlaceOf: former?.credential)
    }

    private func erase(_ asked: GitCredential) throws {
        let store = CredentialStore()
        var kept: [String] = []
        var isAnyErased = false
        for (credential, _) in try Self.matches(asked, in: store, withInvalidated: true) {
            guard let password = try asked.comparedSecret() else {
                try store.delete(credential)
                continue
            }
            // A different password was stored meanwhile, not the one that was rejected.
            let isErased = try store.delete(credential, ifItHas: password) { payload in
                try asked.isSame(as: GitCredential(details: credential.details, payload: payload))
            }
            if isErased { isAnyErased = true } else { kept.append(credential.item.name) }
        }
        guard !kept.isEmpty, !isAnyErased else { return }
        throw CommandError(
            "kept \(kept.map { "'\($0)'" }.joined(separator: ", ")): another password is stored",
            hint: "touchstone delete removes it whatever its password is"
        )
    }

    private static func matches(
        _ asked: GitCredential,
        in store: CredentialStore,
        withInvalidated: Bool = false
    ) throws -> [(credential: StoredCredential, details: GitCredential)] {
        try store.all(label: asked.label, withInvalidated: withInvalidated).compactMap { credential in
            let details = try GitCredential(details: credential.details)
            return asked.isFor(details) ? (credential, details) : nil
        }
    }

    /// From the option, the environment, or git's own configuration; nil if none of them names one.
    private func requirement(for asked: GitCredential) throws(CommandError) -> Requirement? {
        if let require { return require }
        if let chosen = try CredentialStore.requirement() { return chosen }
        guard let git = try? Executable("git"), let host = asked["host"] else { return nil }
        let scheme = String(decoding: asked["protocol"] ?? [], as: UTF8.self)
        let place = "\(scheme)://\(String(decoding: host, as: UTF8.self))"
        var output = try Pipe()
        let arguments = ["git", "config", "--get-urlmatch", "touchstone.require", place]
        let child = try ChildProgram(git.path, arguments, output: output.writeEnd)
        output.closeWriteEnd()
        let text = try Descriptor.read(output.readEnd, upTo: 64)
        _ = child.wait()
        let word = text?.withOctets { octets in
            String(decoding: octets.indices.map { octets[$0] }.filter { $0 > 0x20 }, as: UTF8.self)
        }
        guard let word, !word.isEmpty else { return nil }
        guard let requirement = Requirement(rawValue: word) else {
            throw CommandError(
                "touchstone.require is '\(word)'",
                hint: "it is finger, passcode, either or none"
            )
        }
        return requirement
    }
}
