import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import SecretServiceModel

/// Copies the secrets of the keyring on the session bus into this keychain.
///
/// Repeatable: one that is there with the same attributes is compared, and left as it is.
struct KeyringImport {
    /// What happened to the secrets.
    private struct Count {
        var copied = 0
        var present = 0
        var different = 0
        var refused = 0
    }

    let isDryRun: Bool
    private let store: SecretStore
    private let reader = KeyringReader()
    private var count = Count()

    /// Prepares an import into a keychain that is unlocked.
    init(into keychain: RemoteKeychain, isDryRun: Bool) {
        let own = keychain.representing(.thisProcess)
        store = SecretStore(keychain: own, index: ItemIndex(of: own.separate()))
        self.isDryRun = isDryRun
    }

    /// Imports from a bus, and writes a line for each secret and a result.
    mutating func run(_ address: String) async throws(SecretsFailure) {
        let owner = try await reader.open(address)
        let name = owner.map { "process \($0)" } ?? "the other keyring"
        do throws(BusFault) {
            if try store.isCold() { throw BusFault.isLocked }
        } catch {
            throw SecretsFailure(message: "the keychain is locked", hint: "touchstone unlock", status: 8)
        }
        let collections = try await reader.collections()
        let total = collections.reduce(0) { $0 + $1.items.count }
        for collection in collections {
            let target = try target(of: collection)
            var start = 0
            while start < collection.items.count {
                let end = min(start + KeyringReader.secretsAtOnce, collection.items.count)
                try await copy(Array(collection.items[start..<end]), into: target, of: collection)
                start = end
                if isatty(STDERR_FILENO) == 1, total > KeyringReader.secretsAtOnce {
                    tell("\(count.copied + count.present + count.different + count.refused) of \(total)\r")
                }
            }
        }
        await reader.close()
        report(name)
    }

    // MARK: Collections

    /// The collection of this keychain for one of the other keyring: the default one for its default one, else of the same label.
    private func target(of collection: KeyringReader.Collection) throws(SecretsFailure) -> String {
        if collection.isDefault { return SecretNames.defaultCollection }
        do throws(BusFault) {
            if let same = try store.collections().first(where: { $0.label == collection.label }) {
                return same.name
            }
            let name = CollectionName.free(for: collection.label, beside: try store.collections().map(\.name))
            if !isDryRun, !collection.items.isEmpty {
                try store.write(collection: name, label: collection.label)
            }
            return name
        } catch {
            throw Self.failure(error)
        }
    }

    // MARK: Items

    private mutating func copy(
        _ paths: [String],
        into target: String,
        of collection: KeyringReader.Collection
    ) async throws(SecretsFailure) {
        var foreign: [ForeignSecret] = []
        for path in paths { foreign.append(try await reader.describe(path)) }
        if isDryRun {
            for item in foreign {
                let isThere = try isPresent(item.content.attributes, in: target)
                if isThere { count.present += 1 } else { count.copied += 1 }
                let verb = isThere ? "is here" : "would come"
                print("\(Self.printable(item.content.label))\t\(Self.printable(collection.label))\t\(verb)")
            }
            return
        }
        let secrets = try await reader.secrets(of: paths)
        for item in foreign {
            var content = item.content
            let label = Self.printable(content.label)
            guard let (secret, type) = secrets[item.path] else {
                count.refused += 1
                print("\(label)\tnot given by the other keyring")
                continue
            }
            content.contentType = type
            if let fault = content.fault {
                count.refused += 1
                print("\(label)\tnot taken: \(fault)")
                continue
            }
            try put(content, secret, in: target)
        }
    }

    private mutating func put(
        _ content: SecretItemContent,
        _ secret: HeldSecret,
        in target: String
    ) throws(SecretsFailure) {
        let label = Self.printable(content.label)
        do throws(BusFault) {
            guard let present = try present(content.attributes, in: target) else {
                _ = try store.add(content, try secret.take(), in: target)
                count.copied += 1
                return
            }
            let theirs = try secret.take()
            var isSame = false
            try store.secrets(of: [present]) { _, ours in
                isSame = theirs.withOctets { theirs in ConstantTime.areEqual(theirs, ours) }
            }
            if isSame {
                count.present += 1
            } else {
                count.different += 1
                print("\(label)\tis here with another secret, or behind a gesture; left as it is")
            }
        } catch {
            guard error.name == BusFault.limit("").name else { throw Self.failure(error) }
            count.refused += 1
            print("\(label)\tnot taken: \(error.text)")
        }
    }

    private func present(
        _ attributes: [String: String],
        in collection: String
    ) throws(BusFault) -> SecretItem? {
        let wanted = Self.comparable(attributes)
        return try store.items(in: collection, having: wanted)
            .first { Self.comparable($0.content.attributes) == wanted }
    }

    /// The attributes that tell one item from another: GNOME Keyring tells the schema of an item without one only sometimes.
    private static func comparable(_ attributes: [String: String]) -> [String: String] {
        attributes.filter { $0.key != "xdg:schema" || $0.value != "org.freedesktop.Secret.Generic" }
    }

    private func isPresent(
        _ attributes: [String: String],
        in collection: String
    ) throws(SecretsFailure) -> Bool {
        do throws(BusFault) {
            return try present(attributes, in: collection) != nil
        } catch {
            throw Self.failure(error)
        }
    }

    // MARK: The result

    private func report(_ name: String) {
        func secrets(_ count: Int) -> String { count == 1 ? "1 secret" : "\(count) secrets" }
        var parts = [
            "\(secrets(count.copied)) \(isDryRun ? "would come" : "came")", "\(count.present) were here",
        ]
        if count.different > 0 { parts.append("\(count.different) differ and were left") }
        if count.refused > 0 { parts.append("\(count.refused) could not be taken") }
        tell(parts.joined(separator: ", ") + ".\n")
        guard !isDryRun else { return }
        tell(
            """
            Nothing was removed from \(Self.printable(name)). When everything works from here (touchstone secrets enable), delete its \
            keyrings in the program that shows them (Seahorse, KWalletManager): a backup of the old files still has the secrets.

            """
        )
    }

    private func tell(_ text: String) {
        ErrorStream.write(text)
    }

    /// Text of others on one line of a terminal.
    private static func printable(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: "?"
                    default: scalar
                    }
                }
            )
        )
    }

    private static func failure(_ fault: BusFault) -> SecretsFailure {
        fault == .isLocked
            ? SecretsFailure(message: "the keychain is locked", hint: "touchstone unlock", status: 8)
            : SecretsFailure(message: fault.text, hint: "touchstone doctor")
    }
}
