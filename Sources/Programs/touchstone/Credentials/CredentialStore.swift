import ArgumentParser
import KeychainClient
import KeychainModel
import SecretMemory

/// A credential of another program: a secret of ours with a readable name.
struct StoredCredential {
    let item: StoredSecret
    /// The non-secret details that the program stores with it, as its own lines.
    let details: [UInt8]

    /// The same item, as long as it is unchanged.
    var unchanged: ItemAttributes {
        var attributes = place
        attributes[.modificationDate] = item.attributes[.modificationDate]
        return attributes
    }

    /// Where it is stored.
    var place: ItemAttributes {
        var attributes: ItemAttributes = [
            .service: .string(StoredSecrets.service), .account: .string(item.name),
        ]
        attributes[.label] = item.attributes[.label]
        return attributes
    }
}

extension StoredSecret {
    /// Whether it may have fields: git and docker replace a credential of theirs as a whole.
    func checkHasFields() throws(CommandError) {
        guard case .string(let label)? = attributes[.label],
            label == DockerCredentialCommand.label || label.hasPrefix(GitCredential.labelPrefix)
        else { return }
        throw CommandError(
            "'\(name)' belongs to \(label == DockerCredentialCommand.label ? "docker" : "git"), which replaces it as a whole",
            hint: "keep fields in a secret of your own: touchstone set NAME"
        )
    }
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

    /// The credentials for a server, the last changed first; those that were invalidated only if they are wanted.
    func all(label: String, withInvalidated: Bool = false) throws(KeychainError) -> [StoredCredential] {
        var query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: .string(StoredSecrets.service), .label: .string(label)],
            limit: .all,
            returns: [.attributes, .persistentRef]
        )
        if withInvalidated { query.returns.insert(.invalidated) }
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

    /// A credential as it is to be stored.
    struct Wanted: ~Copyable {
        let name: ItemName
        let label: String
        let details: [UInt8]
        let secret: SecretBytes
        /// The password alone, by which it is compared.
        let password: SecretBytes
        /// What it is to require; nil: what the former one requires, and nothing if there is none.
        let requirement: Requirement?
    }

    /// Stores a credential in place of the former one, in one step: a refusal leaves that as it was.
    ///
    /// The former one is not read, so its prompt is not needed. If it is the same already, nothing is written. A requirement that
    /// changes is reported on standard error.
    func store(_ wanted: consuming Wanted, inPlaceOf former: StoredCredential?) throws(CommandError) {
        // A credential that the user renamed keeps its name.
        let name = former.flatMap { try? ItemName(argument: $0.item.name) } ?? wanted.name
        let place: ItemAttributes =
            former?.place ?? [
                .service: .string(StoredSecrets.service), .account: .string(name.text),
                .label: .string(wanted.label),
            ]
        var rule = former?.item.accessControl ?? AccessControl(accessibility: .whenUnlocked)
        let formerRequirement = rule.requirementName
        do throws(KeychainError) {
            if let requirement = wanted.requirement, requirement != Requirement(rule) {
                rule = try requirement.accessControl(rule.accessibility)
            }
            let request = ReplaceItem(
                query: ItemQuery(itemClass: .genericPassword, attributes: place),
                itemClass: .genericPassword,
                attributes: place.merging([.generic: .data(wanted.details)]) { $1 },
                accessControl: rule,
                data: wanted.secret,
                mark: wanted.password,
                keepsSame: true,
                prompt: secrets.prompt("Store '\(name.text)'.")
            )
            _ = try keychain.replace(request)
        } catch {
            let described = ErrorText.describe(error, storing: name, rule)
            guard former != nil else { throw described }
            throw CommandError(
                described.message + "; the stored one is as it was",
                hint: described.hint,
                exitCode: described.exitCode
            )
        }
        guard former != nil, rule.requirementName != formerRequirement else { return }
        Output.complain(
            Printable.text(
                "'\(name.text)' requires \(rule.requirementName) from now on (before: \(formerRequirement))"
            )
        )
    }

    /// Deletes a credential without a prompt.
    func delete(_ credential: StoredCredential) throws(KeychainError) {
        try delete(credential, credential.place)
    }

    private func delete(_ credential: StoredCredential, _ place: ItemAttributes) throws(KeychainError) {
        let query = ItemQuery(itemClass: .genericPassword, attributes: place, returns: .invalidated)
        let reason = "Delete '\(credential.item.name)'."
        try keychain.delete(DeleteItems(query: query, prompt: secrets.prompt(reason)))
    }

    /// Deletes a credential if it has this password.
    ///
    /// Usually nothing is read. A credential that an earlier version or another command stored is read, with the prompt that it
    /// requires, and compared by `isSame`.
    ///
    /// - Returns: false if it has another password.
    func delete(
        _ credential: StoredCredential,
        ifItHas password: consuming SecretBytes,
        isSame: (borrowing SecretBytes) throws -> Bool
    ) throws -> Bool {
        // It can never be read again.
        if credential.item.invalidated != nil {
            try delete(credential)
            return true
        }
        let request = EraseItems(
            query: ItemQuery(itemClass: .genericPassword, attributes: credential.place),
            secret: password,
            prompt: secrets.prompt("Delete '\(credential.item.name)'.")
        )
        let erasure: Erasure
        do throws(KeychainError) {
            erasure = try keychain.erase(request)
        } catch {
            // Another one erased it meanwhile.
            guard error.status == .itemNotFound else { throw error }
            return true
        }
        guard erasure.unknown > 0 else { return erasure.deleted > 0 }
        guard try isSame(read(credential, reason: "Compare '\(credential.item.name)'.")) else { return false }
        // Not one that was stored meanwhile.
        try delete(credential, credential.unchanged)
        return true
    }
}
