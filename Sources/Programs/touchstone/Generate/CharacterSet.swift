import ArgumentParser

/// The characters for a generated secret, such as `letters,digits,symbols`.
struct CharacterSet {
    /// The names of the kinds, for the help text.
    static let names = "lower, upper, letters, digits, hex and symbols"

    /// The characters of each kind, none of them twice.
    let kinds: [[UInt8]]

    /// All characters.
    var characters: [UInt8] { kinds.flatMap { $0 } }

    /// Letters, digits and symbols.
    static let standard = CharacterSet(
        kinds: ["letters", "digits", "symbols"].flatMap { kinds(named: $0) ?? [] }
    )

    private init(kinds: [[UInt8]]) { self.kinds = kinds }

    /// Parses kinds separated by commas.
    ///
    /// - Throws: `ValidationError` for a kind that is unknown or given twice.
    init(argument: String) throws(ValidationError) {
        var kinds: [[UInt8]] = []
        for name in argument.split(separator: ",", omittingEmptySubsequences: false) {
            guard let named = Self.kinds(named: String(name)) else {
                throw ValidationError("the kinds are \(Self.names), separated by commas")
            }
            kinds += named
        }
        let characters = kinds.flatMap { $0 }
        guard Set(characters).count == characters.count else {
            throw ValidationError("each kind is named once, and letters has lower and upper, hex has digits")
        }
        self.kinds = kinds
    }

    private static func kinds(named name: String) -> [[UInt8]]? {
        let lower = Array(UInt8(ascii: "a")...UInt8(ascii: "z"))
        let upper = Array(UInt8(ascii: "A")...UInt8(ascii: "Z"))
        let digits = Array(UInt8(ascii: "0")...UInt8(ascii: "9"))
        switch name {
        case "lower": return [lower]
        case "upper": return [upper]
        case "letters": return [lower, upper]
        case "digits": return [digits]
        case "hex": return [digits + Array(UInt8(ascii: "a")...UInt8(ascii: "f"))]
        // All printable ASCII characters except letters, digits and the space.
        case "symbols": return [Array("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~".utf8)]
        default: return nil
        }
    }
}
