import ArgumentParser
import Crypto
import Glibc
import KeychainClient
import KeychainModel
import SSHFormat
import SecretMemory

/// `touchstone-git-sign`: what git calls to sign with a key of the keychain, in place of ssh-keygen.
struct GitSignCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "git-sign",
        abstract: "Sign git's commits and tags with a key, after showing what is signed; git calls it.",
        discussion: """
            Under the name touchstone-git-sign (a link to this program) it is git's program for ssh signatures:

              git config --global gpg.format ssh
              git config --global gpg.ssh.program touchstone-git-sign

            The box has the commit's subject, the directory and the files that change; with the ssh-agent alone it has \
            only "git", because the agent gets a hash. What is not signed with a key of touchstone key goes to \
            ssh-keygen, with the same arguments: verifications, and other keys.
            """
    )

    @Argument(help: "The arguments of ssh-keygen, as git gives them, after --.")
    var arguments: [String] = []

    func run() throws {
        guard let asked = GitSignature(arguments), let signed = try asked.sign() else {
            return try runKeygen()
        }
        try asked.write(signed)
    }

    /// Becomes ssh-keygen.
    private func runKeygen() throws {
        let path = try Executable("ssh-keygen").path
        var argv: [UnsafeMutablePointer<CChar>?] = unsafe (["ssh-keygen"] + arguments).map {
            unsafe strdup($0)
        }
        unsafe argv.append(nil)
        _ = unsafe execv(path, argv)
        throw Executable.notExecutable(path, errno)
    }
}

/// A call of git for a signature: `-Y sign -n git -f KEY [-U] FILE`.
private struct GitSignature {
    private static let namespace = "git"
    private static let longestKeyFile = 1 << 16

    private let keyFile: String
    private let file: String

    /// Nil for another call.
    init?(_ arguments: [String]) {
        var (action, name, key): (String?, String?, String?)
        var files: [String] = []
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "-Y": action = rest.popFirst()
            case "-n": name = rest.popFirst()
            case "-f": key = rest.popFirst()
            case "-U": break
            case _ where word.hasPrefix("-"): return nil
            default: files.append(word)
            }
        }
        guard action == "sign", name == Self.namespace, let key, files.count == 1 else { return nil }
        (keyFile, file) = (key, files[0])
    }

    /// Signs after a prompt; nil if the key is not one of ours.
    func sign() throws -> String? {
        guard let ssh = publicKey(), let point = ssh.x963, let key = try StoredKeys().find(point) else {
            return nil
        }
        guard key.hosts.isEmpty else {
            throw CommandError(
                "the key '\(key.name)' is for hosts alone",
                hint: "make another key for commits: touchstone key create NAME",
                exitCode: .failed
            )
        }
        let message = try read()
        let object = SignedObject(message)
        let data = SSHMessageSignature.signedData(
            namespace: Self.namespace,
            digest: Array(SHA512.hash(data: message))
        )
        let prompt = PromptFields(
            origin: .current(),
            reason: object.reason(for: key),
            details: PromptDetails(items: object.lines()),
            fallbackTitles: []
        )
        let use = UseKey(
            representation: key.representation,
            use: .sign(digest: Array(SHA256.hash(data: data))),
            prompt: prompt
        )
        let result = try RemoteKeychain.shared.useKey(use)
        let signature = try SSHSignature.p256(
            rawRepresentation: result.withOctets { octets in octets.indices.map { octets[$0] } }
        )
        return SSHMessageSignature.armored(namespace: Self.namespace, key: ssh, signature: signature)
    }

    /// Writes the signature where ssh-keygen does.
    func write(_ text: String) throws {
        let path = file + ".sig"
        let octets = Array(text.utf8)
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Self.failure("written", path) }
        defer { close(descriptor) }
        guard unsafe Glibc.write(descriptor, octets, octets.count) == octets.count else {
            throw Self.failure("written", path)
        }
    }

    /// The key of the file, or of the one beside it: git may name the private key's.
    private func publicKey() -> SSHPublicKey? {
        for path in [keyFile, keyFile + ".pub"] {
            guard let bytes = try? SmallFile.bytes(path, atMost: Self.longestKeyFile),
                let line = bytes.split(separator: 0x0A).first,
                let key = SSHPublicKey(line: String(decoding: line, as: UTF8.self))
            else { continue }
            return key
        }
        return nil
    }

    private func read() throws -> [UInt8] {
        do throws(UnreadableFile) {
            return try SmallFile.bytes(file, atMost: SignedObject.longest)
        } catch {
            throw CommandError("what git wants signed cannot be read: \(error)", exitCode: .failed)
        }
    }

    private static func failure(_ what: String, _ path: String) -> CommandError {
        CommandError("\(path) cannot be \(what): \(SystemError.name(of: errno))", exitCode: .failed)
    }
}
