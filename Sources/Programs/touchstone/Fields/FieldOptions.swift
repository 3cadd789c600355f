import ArgumentParser
import SecretMemory

/// The fields that a new secret gets from arguments, because they are no secrets.
struct FieldOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Add the line 'user: TEXT' below the secret.", valueName: "text"))
    var user: String?

    @Option(help: ArgumentHelp("Add the line 'url: TEXT' below the secret.", valueName: "text"))
    var url: String?

    /// Whether there are none.
    var isEmpty: Bool { user == nil && url == nil }

    func validate() throws {
        for text in [user, url].compactMap({ $0 }) {
            guard !text.isEmpty, text.unicodeScalars.allSatisfy({ $0.properties.generalCategory != .control })
            else { throw ValidationError("--user and --url take a text of one line") }
        }
    }

    /// The secret with these fields.
    func added(to secret: consuming SecretBytes) throws(CommandError) -> SecretBytes {
        var secret = secret
        for (field, text) in [(FieldName.user, user), (.url, url)] {
            guard let text else { continue }
            let value = try CommandMemory.copy(Array(text.utf8).span)
            secret = try SecretFields.setting(field, to: value, in: secret)
        }
        return secret
    }
}
