import ArgumentParser

/// `VAR=NAME`: an environment variable, and the secret that becomes its value.
struct EnvironmentBinding: ExpressibleByArgument {
    let variable: String
    let name: ItemName

    init?(argument: String) {
        guard let equals = argument.firstIndex(of: "="),
            let name = ItemName(argument: String(argument[argument.index(after: equals)...]))
        else { return nil }
        variable = String(argument[..<equals])
        // POSIX.1-2017, section 8.1: letters, digits and underscore, no digit first.
        guard let first = variable.utf8.first, !(0x30...0x39).contains(first),
            variable.utf8.allSatisfy(Self.isPlain)
        else { return nil }
        self.name = name
    }

    private static func isPlain(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}
