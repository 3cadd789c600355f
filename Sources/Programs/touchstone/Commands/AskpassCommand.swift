import ArgumentParser
import Glibc
import KeychainClient
import SecretMemory

/// `touchstone-askpass`: what ssh and sudo call for a password where they have no terminal, or where they are told to.
struct AskpassCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "askpass",
        abstract: "Give ssh or sudo a password; they call it.",
        discussion: """
            Under the name touchstone-askpass (a link to this program) it is the program of SSH_ASKPASS and SUDO_ASKPASS:

              export SSH_ASKPASS=touchstone-askpass SSH_ASKPASS_REQUIRE=prefer
              touchstone set ssh:me@host.example      a host's password
              touchstone set ssh:/home/me/.ssh/id     a key file's passphrase
              touchstone set sudo                     for SUDO_ASKPASS and sudo -A

            It writes the first line of the secret that the prompt asks for. Other questions, such as whether to go on with \
            an unknown host, are refused: they are for a person.
            """
    )

    /// What ssh (`ssh_askpass` of readpass.c) and sudo (`SUDO_CONV_REPL_MAX`) read at most, in bytes.
    private static let longest = 1023

    @Argument(help: "The prompt, as the program gives it.")
    var prompt: String

    func run() throws {
        // ssh(1): what is asked for is a permission, or nothing.
        let kind = Environment.value("SSH_ASKPASS_PROMPT")
        guard kind == nil || kind == "", let wanted = AskpassPrompt(prompt) else {
            throw CommandError(
                "this question is for a person: '\(Printable.text(String(prompt.prefix(200))))'",
                hint: "run the command on a terminal, without SSH_ASKPASS_REQUIRE"
            )
        }
        if wanted.isOfRoot { try Self.checkCallerIsRoot() }
        let name = try ItemName(argument: wanted.name)
        let secret = try StoredSecrets().read(
            name,
            reason: "Give \(wanted.program) the password '\(name.text)'.",
            context: RemoteKeychain.shared.makeContextNumber()
        )
        let line = try SecretFields.password(in: secret, atMost: Self.longest)
        try unsafe line.withUnsafeBytes { octets throws(CommandError) in try unsafe Output.write(octets) }
        Output.print("")
    }

    /// A server can choose the prompt of a client before OpenSSH 8.5, and any program can call this one; sudo's password is for a
    /// program that is root already.
    private static func checkCallerIsRoot() throws(CommandError) {
        var caller = stat()
        guard unsafe stat("/proc/\(getppid())", &caller) == 0, caller.st_uid == 0 else {
            throw CommandError(
                "the caller is not sudo: it does not run as root",
                hint: "use it as SUDO_ASKPASS, with sudo -A"
            )
        }
    }
}

/// What a prompt of ssh or sudo asks for.
struct AskpassPrompt: Equatable {
    /// The name of the secret.
    let name: String
    /// The program, for the box.
    let program: String
    /// Whether it is a password for root's programs alone.
    var isOfRoot: Bool { program == "sudo" }

    /// The secret that a prompt asks for; nil for another question.
    ///
    /// The prompts of OpenSSH (sshconnect2.c, ssh-add.c, authfile.c), whole: a server's own text stands behind `(USER@HOST) `, which
    /// says whose it is. sudo's begins with `[sudo] ` in every language.
    init?(_ prompt: String) {
        var prompt = prompt[...]
        while prompt.last == " " || prompt.last == "\n" { prompt.removeLast() }
        guard prompt.last == ":", !prompt.contains("\n") else { return nil }
        prompt.removeLast()
        let end = prompt.firstIndex(of: ")") ?? prompt.endIndex
        if let file = prompt.dropping("Enter passphrase for ", "") {
            // Not "Bad passphrase, try again": it would be the same one again.
            let plain = file.dropping("", " (will confirm each use)") ?? file
            self.init("ssh", plain.dropping("key '", "'") ?? plain)
        } else if let place = prompt.dropping("", "'s password"), Self.isPlace(place) {
            self.init("ssh", place)
        } else if let place = prompt[..<end].dropping("(", ""), Self.isPlace(place),
            Self.isPassword(prompt[end...])
        {
            self.init("ssh", place)
        } else if prompt.hasPrefix("[sudo] ") {
            self.init("sudo", nil)
        } else {
            return nil
        }
    }

    private init?(_ program: String, _ what: Substring?) {
        guard what != "" else { return nil }
        self.program = program
        name = what.map { "\(program):\($0)" } ?? program
    }

    /// Whether this is `USER@HOST`.
    private static func isPlace(_ text: Substring) -> Bool {
        text.contains("@") && text.first != "@" && text.last != "@"
            && text.allSatisfy { !" ()'\t".contains($0) }
    }

    /// Whether this is what login programs ask for after the place.
    private static func isPassword(_ text: Substring) -> Bool {
        guard text != ") Password" else { return true }
        return text.dropping(") Password for ", "").map(isPlace) ?? false
    }
}

extension Substring {
    /// What is between a beginning and an end; nil if it has not both.
    fileprivate func dropping(_ beginning: String, _ end: String) -> Substring? {
        guard hasPrefix(beginning), hasSuffix(end), utf8.count >= beginning.utf8.count + end.utf8.count else {
            return nil
        }
        return dropFirst(beginning.count).dropLast(end.count)
    }
}
