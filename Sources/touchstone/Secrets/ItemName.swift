import ArgumentParser
import KeychainClient
import KeychainModel

/// The name of a secret: 1 to 255 octets, no control characters.
struct ItemName: ExpressibleByArgument {
    /// The longest name, in octets of UTF-8.
    static let longest = 255

    let text: String

    /// What help and error messages say about names.
    static let help: ArgumentHelp = "The secret's name: 1 to 255 octets, no control characters."

    init?(argument: String) {
        let isPlain = argument.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        guard !argument.isEmpty, argument.utf8.count <= Self.longest, isPlain else { return nil }
        text = argument
    }

    /// For names in the shell: those stored, as long as nobody has to be asked and no daemon started.
    static let completion = CompletionKind.custom { _, _, _ in
        let keychain = RemoteKeychain(daemon: .none)
        let secrets = try? StoredSecrets(keychain: keychain).all(interactionAllowed: false)
        return (secrets ?? []).map(\.name)
    }
}
