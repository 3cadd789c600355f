/// What Touchstone itself says in prompts, in one language.
///
/// A sentence is found by its English one, in which `%` stands for each number. The prompts of the other targets are in English;
/// they are translated where they are drawn. A text that is not one of ours stays as it is, so no text of an app is translated.
struct PromptWords: Sendable {
    /// The language's primary subtag (BCP 47).
    let language: String
    /// The sentences, by their English ones.
    let sentences: [String: String]

    /// The available languages; English is the fallback.
    static let all: [PromptWords] = [.english, .turkish, .chinese, .japanese]

    /// The words for a locale such as `ja_JP.UTF-8`; the locale's own text appears nowhere.
    static func chosen(_ locale: String?) -> PromptWords {
        let primary = locale?.prefix { $0 != "_" && $0 != "." && $0 != "@" && $0 != "-" }.lowercased()
        return all.first { $0.language == primary } ?? english
    }

    /// The sentence in this language.
    ///
    /// - Parameter english: a sentence of ours in English, or two with a colon between them.
    /// - Returns: the sentence; the same text if it is not one of ours.
    func callAsFunction(_ english: String) -> String {
        if language == Self.english.language { return english }
        if let whole = translated(english[...]) { return whole }
        guard let colon = english.firstRange(of: ": "),
            let first = translated(english[..<colon.lowerBound]),
            let second = translated(english[colon.upperBound...])
        else { return english }
        return "\(first): \(second)"
    }

    private func translated(_ english: Substring) -> String? {
        guard !english.contains("%") else { return nil }
        var name = ""
        var numbers: [Substring] = []
        var rest = english
        while let character = rest.first {
            let digits = rest.prefix { $0.isASCII && $0.isNumber }
            if digits.isEmpty {
                name.append(character)
                rest.removeFirst()
            } else {
                name.append("%")
                numbers.append(digits)
                rest = rest[digits.endIndex...]
            }
        }
        guard let sentence = sentences[name] else { return nil }
        var next = numbers.makeIterator()
        return sentence.reduce(into: "") { text, character in
            if character == "%", let number = next.next() { text += number } else { text.append(character) }
        }
    }
}

extension PromptWords: Equatable {
    /// Compares the languages.
    static func == (lhs: Self, rhs: Self) -> Bool { lhs.language == rhs.language }
}
