/// Looking for a phrase in a text, octet by octet.
///
/// The `contains` and `split` of strings by strings are in the module of regular expressions: a single call would make the
/// command 1.3 MB larger.
extension StringProtocol {
    /// Whether the phrase is in the text.
    func includes(_ phrase: String) -> Bool { place(of: phrase) != nil }

    /// The parts between separators, without empty ones.
    func parts(separatedBy separator: String) -> [String] {
        var parts: [String] = []
        var rest = self[...]
        while let place = rest.place(of: separator) {
            parts.append(String(rest[..<place.lowerBound]))
            rest = rest[place.upperBound...]
        }
        parts.append(String(rest))
        return parts.filter { !$0.isEmpty }
    }

    private func place(of phrase: String) -> Range<Index>? {
        let octets = utf8
        guard let start = octets.indices.first(where: { octets[$0...].starts(with: phrase.utf8) }) else {
            return nil
        }
        return start..<octets.index(start, offsetBy: phrase.utf8.count)
    }
}
