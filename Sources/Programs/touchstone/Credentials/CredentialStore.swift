import ArgumentParser
import KeychainClient
import KeychainModel
import SecretMemory

/// A credential of another program: a secret of ours with a readable name.
struct StoredCredential {
    let item: StoredSecret
    /// The non-secret details that the program stores with it, as its own lines.
    let details: [UInt8]

    var name: ItemName? { try? ItemName(argument: item.name) }
    /// Whether it is released without a prompt while the keychain is unlocked.
    var needsNobody: Bool { Requirement(item.accessControl) == .nothing }
}

/// The credentials of git and docker among the secrets, found by the server they are for, which is their label.
struct CredentialStore {
    /// The variable that names the requirement of new credentials.
    static let variable = "TOUCHSTONE_CREDENTIAL_REQUIRE"

    private let secrets = StoredSecrets()
    private var keychain: RemoteKeychain { secrets.keychain }

    /// The requirement of new credentials in the environment; nil if the variable is not set.
    ///
    /// - Throws: ``CommandError`` for an unknown requirement: it never falls back to a weaker one.
    static func requirement() throws(CommandError) -> Requirement? {
        guard let text = Environment.value(variable) else { return nil }
        guard let requirement = Requirement(rawValue: text) else {
            throw CommandError(
                "\(variable) is '\(text)'",
                hint: "it is finger, passcode, either or none",
                exitCode: .validationFailure
            )
        }
        return requirement
    }

    /// The credentials for a server, the last changed first.
    func all(label: String) throws(KeychainError) -> [StoredCredential] {
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string(StoredSecrets.service), .label: .string(label)],
            limit: .all,
            returns: [.attributes, .persistentRef]
        )
        do throws(KeychainError) {
            let request = CopyItems(query: query, prompt: secrets.prompt("Look for a credential."))
            let found = secrets.secrets(of: try keychain.copy(request)).map { item in
                guard case .data(let details) = item.attributes[.generic] else {
                    return StoredCredential(item: item, details: [])
                }
                return StoredCredential(item: item, details: details)
            }
            return found.sorted { ($0.item.modified ?? 0) > ($1.item.modified ?? 0) }
        } catch {
            if error.status == .itemNotFound { return [] }
            throw error
        }
    }

    /// Releases a credential.
    func read(_ credential: StoredCredential, reason: String) throws(KeychainError) -> SecretBytes {
        guard let reference = credential.item.reference else { throw KeychainError(.itemNotFound) }
        let query = ItemQuery(itemClass: .genericPassword, returns: .data, references: [reference])
        let results = try keychain.copy(CopyItems(query: query, prompt: secrets.prompt(reason)))
        guard let item = results.first(), let data = try item.copyData() else {
            throw KeychainError(.itemNotFound)
        }
        return data
    }

    /// Stores a new credential.
    func add(
        _ name: ItemName,
        label: String,
        details: [UInt8],
        _ secret: consuming SecretBytes,
        _ requirement: Requirement
    ) throws(KeychainError) {
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [
                .service: .string(StoredSecrets.service), .account: .string(name.text),
                .label: .string(label),
                .generic: .data(details),
            ],
            accessControl: try requirement.accessControl(),
            data: secret,
            prompt: secrets.prompt("Store '\(name.text)'.")
        )
        _ = try keychain.add(item)
    }

    /// Replaces the secret of a credential that needs no prompt, in one commit.
    func replace(
        _ credential: StoredCredential,
        details: [UInt8],
        _ secret: consuming SecretBytes
    ) throws(KeychainError) {
        guard let reference = credential.item.reference else { return }
        let request = UpdateItems(
            query: ItemQuery(itemClass: .genericPassword, references: [reference]),
            attributes: [.generic: .data(details)],
            accessControl: nil,
            data: secret,
            prompt: secrets.prompt("Replace '\(credential.item.name)'.")
        )
        try keychain.update(request)
    }

    /// Deletes a credential without a prompt.
    func delete(_ credential: StoredCredential) throws(KeychainError) {
        guard let reference = credential.item.reference else { return }
        let query = ItemQuery(itemClass: .genericPassword, references: [reference])
        let reason = "Delete '\(credential.item.name)'."
        try keychain.delete(DeleteItems(query: query, prompt: secrets.prompt(reason)))
    }

    /// A name for a credential: external text, with bytes that a name cannot contain as `%XX`.
    static func name(_ text: [UInt8]) throws(KeychainError) -> ItemName {
        guard let name = try? ItemName(argument: escaped(text, keeping: "")) else {
            throw KeychainError(.param, cause: DriverCause(domain: "touchstone", code: "longName"))
        }
        return name
    }

    /// The text with everything but printable ASCII characters, and also those of `special`, as `%XX`.
    static func escaped(_ text: [UInt8], keeping special: String) -> String {
        let special = Array(special.utf8)
        return text.reduce(into: "") { escaped, octet in
            if (0x21...0x7E).contains(octet), octet != UInt8(ascii: "%") || special.isEmpty,
                !special.contains(octet)
            {
                escaped.unicodeScalars.append(Unicode.Scalar(octet))
            } else {
                escaped += "%" + (octet < 16 ? "0" : "") + String(octet, radix: 16, uppercase: true)
            }
        }
    }
}
