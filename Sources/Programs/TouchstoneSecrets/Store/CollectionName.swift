/// The last part of a collection's path.
enum CollectionName {
    /// The most characters of a label that are in it.
    private static let longestStem = 64

    /// A name for a label, of ASCII letters, digits and underscores, that no other collection has.
    static func free(for label: String, beside taken: some Sequence<String>) -> String {
        let letters = label.unicodeScalars.prefix(longestStem).map { scalar in
            scalar.isASCII && (scalar.properties.isAlphabetic || scalar.properties.numericType != nil)
                ? Character(scalar) : "_"
        }
        let stem = letters.isEmpty ? "collection" : String(letters)
        let taken = Set(taken).union([SecretNames.defaultCollection, SecretNames.sessionCollection])
        var name = stem
        var number = 1
        while taken.contains(name) {
            number += 1
            name = "\(stem)_\(number)"
        }
        return name
    }
}
