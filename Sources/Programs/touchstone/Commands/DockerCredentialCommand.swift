import ArgumentParser
import Glibc
import KeychainModel
import SecretMemory

/// `docker-credential-touchstone`: docker's logins, by the protocol of docker-credential-helpers.
///
/// Errors go to standard output, which docker reads. The only one that it knows is "credentials not found in native
/// keychain", used only for missing credentials.
struct DockerCredentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "docker-credential",
        abstract: "Keep docker's logins; docker calls it.",
        discussion: """
            Under the name docker-credential-touchstone (a link to this program) it is what "credsStore": "touchstone" \
            in ~/.docker/config.json names. A new login needs nothing while the keychain is unlocked; \
            \(CredentialStore.variable) names another requirement.
            """
    )

    /// Of all credentials of docker.
    static let label = "docker"
    /// docker-credential-helpers, credentials/error.go.
    private static let notFound = "credentials not found in native keychain"
    private static let noServer = "no credentials server URL"
    private static let noUser = "no credentials username"

    @Argument(help: "get, store, erase, list or version.")
    var operation: String

    func run() throws {
        do {
            switch operation {
            case "get": try get(Self.server())
            case "store": try store()
            case "erase": try erase(Self.server())
            case "list": try list()
            case "version": Output.print("docker-credential-touchstone \(ProductVersion.text)")
            default: throw CommandError("unknown credential action `\(operation)`")
            }
        } catch let error as KeychainError {
            throw Self.told(ErrorText.describe(error))
        } catch let error as CommandError {
            throw Self.told(error)
        }
    }

    private func get(_ server: [UInt8]) throws {
        let store = CredentialStore()
        guard let found = try Self.find(server, in: store) else { throw CommandError(Self.notFound) }
        let secret = try store.read(found, reason: "Give docker '\(found.item.name)'.")
        var json = try CommandMemory.buffer(256)
        json.append(text: "{\"ServerURL\":")
        json.append(quoted: server.span)
        json.append(text: ",\"Username\":")
        json.append(quoted: Self.user(of: found).span)
        json.append(text: ",\"Secret\":")
        secret.withOctets { json.append(quoted: $0) }
        json.append(text: "}\n")
        try unsafe CommandMemory.finish(json).withUnsafeBytes { octets throws(CommandError) in
            try unsafe Output.write(octets)
        }
    }

    private func store() throws {
        guard let text = try Descriptor.read(STDIN_FILENO, upTo: 2 * ItemLimits.longestData),
            let members = try JSONMembers(text)
        else { throw CommandError("the credentials are not a JSON object of strings") }
        guard let server = members.plain("ServerURL"), !server.isEmpty else {
            throw CommandError(Self.noServer)
        }
        // It is one line of the details.
        guard !server.contains(0x0A) else {
            throw CommandError("the credentials server URL has a line break")
        }
        guard let user = members.plain("Username"), !user.isEmpty else { throw CommandError(Self.noUser) }
        let details = server + [0x0A] + user
        // Before anything is looked up: a misspelt requirement changes nothing.
        let requirement = try CredentialStore.requirement()
        let store = CredentialStore()
        let wanted = CredentialStore.Wanted(
            name: try CredentialName.name("docker:" + CredentialName.escaped(server, keeping: "")),
            label: Self.label,
            details: details,
            secret: try members.secret("Secret"),
            password: try members.secret("Secret"),
            requirement: requirement
        )
        try store.store(wanted, inPlaceOf: Self.find(server, in: store, withInvalidated: true))
    }

    private func erase(_ server: [UInt8]) throws {
        let store = CredentialStore()
        guard let found = try Self.find(server, in: store, withInvalidated: true) else {
            throw CommandError(Self.notFound)
        }
        try store.delete(found)
    }

    private func list() throws {
        var json = try CommandMemory.buffer(256)
        json.append(text: "{")
        for (index, credential) in try CredentialStore().all(label: Self.label).enumerated() {
            json.append(text: index == 0 ? "" : ",")
            json.append(quoted: Self.server(of: credential).span)
            json.append(text: ":")
            json.append(quoted: Self.user(of: credential).span)
        }
        json.append(text: "}\n")
        try unsafe CommandMemory.finish(json).withUnsafeBytes { octets throws(CommandError) in
            try unsafe Output.write(octets)
        }
    }

    private static func find(
        _ server: [UInt8],
        in store: CredentialStore,
        withInvalidated: Bool = false
    ) throws -> StoredCredential? {
        try store.all(label: label, withInvalidated: withInvalidated).first { Self.server(of: $0) == server }
    }

    /// The server of a credential: the first line of its details.
    private static func server(of credential: StoredCredential) -> [UInt8] {
        Array(credential.details.prefix { $0 != 0x0A })
    }

    private static func user(of credential: StoredCredential) -> [UInt8] {
        Array(credential.details.drop { $0 != 0x0A }.dropFirst())
    }

    /// The server named on standard input.
    private static func server() throws(CommandError) -> [UInt8] {
        let octets = try PlainFile.read("-", upTo: 1 << 16)
        let trimmed = octets.drop { $0 <= 0x20 }.reversed().drop { $0 <= 0x20 }.reversed()
        guard !trimmed.isEmpty else { throw CommandError(noServer) }
        return Array(trimmed)
    }

    /// Writes an error to standard output, where docker reads it.
    private static func told(_ error: CommandError) -> ExitCode {
        let hint = error.hint.map { " (\($0))" } ?? ""
        Output.print(Printable.text(error.message + hint))
        return error.exitCode
    }
}
