import SecretMemory

/// A secret, or one of its fields, as a template, a variable or `get` refers to it.
struct SecretReference {
    let name: ItemName
    /// Nil for the whole secret.
    var field: FieldName?

    /// Equal for references to the same value; no name holds a control character.
    var key: String {
        field.map { name.text + "\n" + String(decoding: $0.folded, as: UTF8.self) } ?? name.text
    }

    /// The value that it refers to.
    ///
    /// - Throws: ``CommandError`` if the secret has no such field.
    func value(in secret: consuming SecretBytes) throws(CommandError) -> SecretBytes {
        guard let field else { return secret }
        return try value(of: field, in: secret)
    }

    /// - Throws: ``CommandError`` if the secret has no such field.
    func value(of field: FieldName, in secret: borrowing SecretBytes) throws(CommandError) -> SecretBytes {
        if let value = try SecretFields.value(of: field, in: secret) { return value }
        let words = "--field \(ShellWord.escaped(field.text)) \(ShellWord.argument(name.text))"
        throw CommandError(
            "'\(name.text)' has no field '\(field.text)'",
            hint: "touchstone set \(words) adds it",
            exitCode: .notFound
        )
    }
}
