/// Estimates how many guesses, as a power of two, somebody needs who tries words and patterns first.
///
/// The cheapest way to make the octets counts: a listed word, also in capitals or with digits for letters, costs as
/// much as choosing it from those that are as frequent; a phrase that everybody knows little more than a word; a step
/// along the alphabet or the keyboard, and what repeats what is before it, next to nothing.
struct Guessability {
    private enum Bits {
        /// Of the most frequent words: choosing one of a thousand.
        static let word = 10
        /// How a word is written, and how it is joined to the next.
        static let writing = 2
        static let phrase = 10
        static let `repeat` = 2
        static let year = 5
        static let letter = 5
        static let digit = 3
        static let symbol = 6
        static let space = 1
        static let step = 1
        static let continuation = 2
    }

    /// What is repeated is looked for up to this length.
    private static let longestRepeat = 64

    private let knowsWords: Bool
    private let userName: [UInt8]

    /// Knows the lists and the user's name; without them, patterns alone.
    init(knowsWords: Bool, userName: String?) {
        self.knowsWords = knowsWords
        // Shorter names are in half of all passcodes.
        let name = (userName ?? "").lowercased().utf8.filter { $0 > 0x20 }
        self.userName = knowsWords && name.count >= 3 ? Array(name) : []
    }

    /// The estimate for the first `end` octets.
    func bits(of octets: Span<UInt8>, upTo end: Int) -> Int {
        var cheapest = [Int](repeating: .max / 2, count: end + 1)
        cheapest[0] = 0
        for start in 0..<end {
            let before = cheapest[start]
            func reach(_ next: Int, _ cost: Int) { cheapest[next] = min(cheapest[next], before + cost) }
            reach(start + 1, Self.cost(of: octets, at: start, end))
            if Self.isYear(octets, at: start, end) { reach(start + 4, Bits.year) }
            for length in Self.repeatLengths(in: octets, at: start, end) {
                reach(start + length, Bits.repeat)
            }
            guard knowsWords else { continue }
            for reading in FrequentWords.Reading.allCases {
                FrequentWords.forEachWord(in: octets, at: start, upTo: end, reading: reading) {
                    length,
                    bits in
                    reach(start + length, max(Bits.word, bits + Bits.writing))
                }
            }
            if isUserName(octets, at: start, end) { reach(start + userName.count, Bits.word) }
            for next in Self.phraseEnds(in: octets, at: start, end) { reach(next, Bits.phrase) }
        }
        return cheapest[end]
    }

    // MARK: Words

    private func isUserName(_ octets: Span<UInt8>, at start: Int, _ end: Int) -> Bool {
        guard !userName.isEmpty, start + userName.count <= end else { return false }
        return userName.indices.allSatisfy { index in
            let typed = octets[start + index]
            return typed == userName[index] || Self.stands(typed, for: userName[index])
        }
    }

    /// Whether `typed` is this letter of a word, or what people write in its place.
    private static func stands(_ typed: UInt8, for letter: UInt8) -> Bool {
        FrequentWords.Reading.allCases.contains { FrequentWords.fold(typed, $0) == letter }
    }

    /// Where the phrases end that stand at `start`, with or without spaces and marks.
    private static func phraseEnds(in octets: Span<UInt8>, at start: Int, _ end: Int) -> [Int] {
        var ends: [Int] = []
        let firsts = Set(FrequentWords.Reading.allCases.compactMap { FrequentWords.fold(octets[start], $0) })
        for first in firsts {
            for phrase in CommonPhrases.phrases[first] ?? [] {
                if let next = self.end(of: phrase, in: octets, at: start, end) { ends.append(next) }
            }
        }
        return ends
    }

    private static func end(
        of phrase: [UInt8],
        in octets: Span<UInt8>,
        at start: Int,
        _ end: Int
    ) -> Int? {
        var index = start
        for letter in phrase {
            while index < end, !stands(octets[index], for: letter), isJoint(octets[index]) { index += 1 }
            guard index < end, stands(octets[index], for: letter) else { return nil }
            index += 1
        }
        return index
    }

    /// What stands between words, or in the middle of one: `don't`.
    private static func isJoint(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ","),
            UInt8(ascii: "'"), UInt8(ascii: "/"), UInt8(ascii: ":"):
            true
        default: false
        }
    }

    /// The lengths of what stands at `start` and, just as long, right before it.
    private static func repeatLengths(in octets: Span<UInt8>, at start: Int, _ end: Int) -> [Int] {
        let longest = min(start, end - start, longestRepeat)
        guard longest >= 3 else { return [] }
        return (3...longest).filter { length in
            for index in start..<(start + length) where octets[index] != octets[index - length] {
                return false
            }
            return true
        }
    }

    // MARK: Single characters

    private static func cost(of octets: Span<UInt8>, at index: Int, _ end: Int) -> Int {
        let octet = octets[index]
        if octet & 0xC0 == 0x80 { return Bits.continuation }
        if isInRun(octets, at: index, end) { return Bits.step }
        switch octet {
        case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): return Bits.space
        case UInt8(ascii: "0")...UInt8(ascii: "9"): return Bits.digit
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0x80...:
            return Bits.letter
        default: return Bits.symbol
        }
    }

    /// Two steps of one kind in a row make a run; a single one is chance.
    private static func isInRun(_ octets: Span<UInt8>, at index: Int, _ end: Int) -> Bool {
        guard index > 0 else { return false }
        let step = KeyStep(octets[index - 1], octets[index])
        if index > 1, !step.isDisjoint(with: KeyStep(octets[index - 2], octets[index - 1])) { return true }
        return index + 1 < end && !step.isDisjoint(with: KeyStep(octets[index], octets[index + 1]))
    }

    private static func isYear(_ octets: Span<UInt8>, at start: Int, _ end: Int) -> Bool {
        guard start + 4 <= end else { return false }
        for index in start..<(start + 4) where !isDigit(octets[index]) { return false }
        let century = (octets[start], octets[start + 1])
        return century == (UInt8(ascii: "1"), UInt8(ascii: "9"))
            || century == (UInt8(ascii: "2"), UInt8(ascii: "0"))
    }

    private static func isDigit(_ octet: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet)
    }
}
