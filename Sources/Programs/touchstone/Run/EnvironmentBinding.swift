import ArgumentParser

/// `VAR=NAME` or `VAR=touchstone://NAME?field=FIELD`: an environment variable, and the secret that becomes its value.
struct EnvironmentBinding {
    let variable: String
    let secret: SecretReference

    /// Reads `VAR=NAME`.
    ///
    /// - Throws: `ValidationError` for any other form.
    init(argument: String) throws(ValidationError) {
        guard let equals = argument.firstIndex(of: "=") else { throw ValidationError("the form is VAR=NAME") }
        variable = String(argument[..<equals])
        guard Self.isName(variable) else {
            throw ValidationError("a variable has letters, digits and '_', and no digit first")
        }
        let value = String(argument[argument.index(after: equals)...])
        if let referred = try SecretTemplate.reference(value) {
            secret = referred
        } else {
            secret = SecretReference(name: try ItemName(argument: value))
        }
    }

    /// Whether a text is a valid variable name (POSIX.1-2017, section 8.1): letters, digits and underscore, no digit
    /// first.
    static func isName(_ text: String) -> Bool {
        guard let first = text.utf8.first, !(0x30...0x39).contains(first) else { return false }
        return text.utf8.allSatisfy(isPlain)
    }

    /// Whether a byte is allowed in a variable's name.
    static func isPlain(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
