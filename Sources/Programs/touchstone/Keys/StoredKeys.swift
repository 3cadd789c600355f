import Crypto
import KeychainClient
import KeychainModel
import SSHFormat

/// A named key with what the daemon says of it.
struct StoredKey {
    let key: NamedKey
    /// Nil for a key that can be used no more, as its fingers changed.
    let made: EnclaveKey?

    /// The public key as ssh writes it.
    var ssh: SSHPublicKey {
        get throws(CommandError) {
            guard let key = try? SSHPublicKey(p256: key.publicKey) else { throw damage }
            return key
        }
    }

    /// The public key as PEM (SubjectPublicKeyInfo).
    var pem: String {
        get throws(CommandError) {
            guard let key = try? P256.Signing.PublicKey(x963Representation: key.publicKey) else {
                throw damage
            }
            return key.pemRepresentation
        }
    }

    private var damage: CommandError {
        CommandError("the key '\(key.name)' is damaged", hint: "touchstone doctor", exitCode: .damaged)
    }
}

/// The keys of every program of the user, which the command makes and deletes.
struct StoredKeys {
    let keychain: RemoteKeychain

    init(keychain: RemoteKeychain = .shared) { self.keychain = keychain }

    /// All keys, the oldest first.
    func all() throws(CommandError) -> [StoredKey] {
        try keys(NamedKey.all, "List the keys.")
            .sorted { ($0.created ?? 0, $0.name) < ($1.created ?? 0, $1.name) }
            .map { key throws(CommandError) in try describe(key) }
    }

    /// The names of all keys.
    func names(interactionAllowed: Bool) throws(CommandError) -> [String] {
        try keys(NamedKey.all, "List the keys.", interactionAllowed: interactionAllowed).map(\.name)
    }

    /// The key of a name.
    func find(_ name: ItemName) throws(CommandError) -> StoredKey {
        guard let key = try keys(NamedKey.named(name.text), "Look up the key '\(name.text)'.").first else {
            throw Self.missing(name)
        }
        return try describe(key)
    }

    /// The key of a public key; nil if there is none.
    func find(_ publicKey: [UInt8]) throws(CommandError) -> NamedKey? {
        try keys(NamedKey.of(publicKey), "Look up a key.").first
    }

    /// Makes a key.
    ///
    /// - Throws: ``CommandError``, also if there is one of that name.
    func make(
        _ name: ItemName,
        _ rule: AccessControl,
        for hosts: [NamedKey.Host]
    ) throws(CommandError) -> StoredKey {
        let reason = "Make the key '\(name.text)'."
        let present = try keys(NamedKey.all, reason)
        guard !present.contains(where: { $0.name == name.text }) else { throw Self.taken(name) }
        guard present.count < NamedKey.most else {
            throw CommandError(
                "there are \(present.count) keys, and the ssh-agent lists no more",
                hint: "touchstone key delete NAME",
                exitCode: .failed
            )
        }
        do throws(KeychainError) {
            let made = try keychain.makeKey(
                MakeKey(accessControl: rule, group: NamedKey.group, prompt: prompt(reason))
            )
            let key = NamedKey(name: name.text, key: made, hosts: hosts)
            _ = try keychain.add(
                AddItem(
                    itemClass: .genericPassword,
                    attributes: key.attributes,
                    // Readable while the screen is locked, so that a list needs no prompt.
                    accessControl: AccessControl(accessibility: .afterFirstUnlockThisDeviceOnly),
                    data: nil,
                    prompt: prompt(reason)
                )
            )
            return StoredKey(key: key, made: made)
        } catch {
            // Another command made it meanwhile; the new key is in no item, so nobody can use it.
            throw error.status == .duplicateItem
                ? Self.taken(name) : ErrorText.describe(error, storing: name, rule)
        }
    }

    /// Gives a key another name.
    func rename(_ name: ItemName, to newName: ItemName) throws(CommandError) {
        let reason = "Rename the key '\(name.text)'."
        do throws(KeychainError) {
            _ = try keychain.update(
                UpdateItems(
                    query: NamedKey.named(name.text),
                    attributes: [.account: .string(newName.text), .label: .string(newName.text)],
                    accessControl: nil,
                    data: nil,
                    prompt: prompt(reason)
                )
            )
        } catch {
            switch error.status {
            case .itemNotFound: throw Self.missing(name)
            case .duplicateItem: throw Self.taken(newName)
            default: throw ErrorText.describe(error)
            }
        }
    }

    /// Deletes a key: nobody can use it any more.
    func delete(_ name: ItemName) throws(CommandError) {
        do throws(KeychainError) {
            _ = try keychain.delete(
                DeleteItems(
                    query: NamedKey.named(name.text),
                    prompt: prompt("Delete the key '\(name.text)'.")
                )
            )
        } catch {
            throw error.status == .itemNotFound ? Self.missing(name) : ErrorText.describe(error)
        }
    }

    private func keys(
        _ query: ItemQuery,
        _ reason: String,
        interactionAllowed: Bool = true
    ) throws(CommandError) -> [NamedKey] {
        do throws(KeychainError) {
            var keys: [NamedKey] = []
            let results = try keychain.copy(
                CopyItems(query: query, prompt: prompt(reason, interactionAllowed: interactionAllowed))
            )
            results.forEach { item in
                if let key = item.attributes.flatMap(NamedKey.init) { keys.append(key) }
            }
            return keys
        } catch {
            if error.status == .itemNotFound { return [] }
            throw ErrorText.describe(error)
        }
    }

    private func describe(_ key: NamedKey) throws(CommandError) -> StoredKey {
        do throws(KeychainError) {
            let request = ReadKey(representation: key.representation, prompt: prompt("Look up a key."))
            return StoredKey(key: key, made: try keychain.readKey(request))
        } catch {
            guard error.status == .itemNotFound else { throw ErrorText.describe(error) }
            return StoredKey(key: key, made: nil)
        }
    }

    private func prompt(_ reason: String, interactionAllowed: Bool = true) -> PromptFields {
        PromptFields(
            origin: .current(),
            reason: reason,
            fallbackTitles: [],
            interactionAllowed: interactionAllowed
        )
    }

    private static func missing(_ name: ItemName) -> CommandError {
        CommandError("there is no key named '\(name.text)'", hint: "touchstone key list", exitCode: .notFound)
    }

    private static func taken(_ name: ItemName) -> CommandError {
        CommandError(
            "there is a key named '\(name.text)' already",
            hint: "touchstone key list",
            exitCode: .existsAlready
        )
    }
}
