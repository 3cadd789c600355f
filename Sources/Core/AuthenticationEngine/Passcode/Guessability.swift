internal import FrequentWords

/// Estimates, as a power of two, how many guesses an attacker needs who tries words and patterns first.
///
/// The cheapest way to compose the bytes counts. A listed word, also in capitals or with digits for letters, costs as
/// much as choosing it from the words that are as frequent; a well-known phrase costs little more than a word; a step
/// along the alphabet or the keyboard, or a repetition of the preceding bytes, costs next to nothing. Words and runs that
/// occur in random letters by chance have to be located among them, which costs as much as they save.
struct Guessability {
    private enum Bits {
        /// One of the thousand most frequent words.
        static let word = 10
        /// The spelling of a word (capitals, digits) and how it is joined to the next.
        static let writing = 2
        /// A border between a word and letters outside any word: the attacker has to guess its position.
        static let border = 4
        static let phrase = 10
        static let `repeat` = 2
        static let year = 5
        static let letter = 5
        static let digit = 3
        static let symbol = 6
        static let space = 1
        /// The presence of a run and its kind.
        static let run = 6
        /// One more character of a run in one direction.
        static let step = 1
        /// One more adjacent key, in any direction, in a short run.
        static let neighbour = 3
        static let continuation = 2
    }

    /// From this length on, a run from key to key is not a coincidence.
    private static let longestChance = 8
    /// Repetitions are searched up to this length in bytes.
    private static let longestRepeat = 64

    private let knowsWords: Bool
    private let userName: [UInt8]

    /// Uses the word lists and the user's name if `knowsWords`, patterns alone otherwise.
    init(knowsWords: Bool, userName: String?) {
        self.knowsWords = knowsWords
        // Shorter names occur in half of all passcodes.
        let name = (userName ?? "").lowercased().utf8.filter { $0 > 0x20 }
        self.userName = knowsWords && name.count >= 3 ? Array(name) : []
    }

    /// The estimate for the first `end` bytes.
    func bits(of octets: Span<UInt8>, upTo end: Int) -> Int {
        // The lowest cost of each prefix: one that ends in a letter outside a word (`loose`), and any other (`listed`).
        var cheapest = [Way](repeating: Way(), count: end + 1)
        cheapest[0].listed = 0
        for start in 0..<end {
            let before = cheapest[start]
            let listed = min(before.listed, before.loose + Bits.border)
            func reach(_ next: Int, _ cost: Int) {
                cheapest[next].listed = min(cheapest[next].listed, listed + cost)
            }
            let first = Self.cost(of: octets[start])
            if Self.isLetter(octets[start]) {
                let border = start == 0 ? 0 : Bits.border
                let loose = min(before.loose, before.listed + border) + first
                cheapest[start + 1].loose = min(cheapest[start + 1].loose, loose)
            } else {
                // Digits and punctuation between words or after them.
                cheapest[start + 1].listed = min(
                    cheapest[start + 1].listed,
                    min(before.listed, before.loose) + first
                )
            }
            Self.forEachRun(in: octets, at: start, end) { length, step in
                let cost = first + Bits.run + (length - 1) * step
                reach(start + length, cost)
                // Letters that follow a run need no border.
                cheapest[start + length].loose = min(cheapest[start + length].loose, listed + cost)
            }
            if Self.isYear(octets, at: start, end) { reach(start + 4, Bits.year) }
            for length in Self.repeatLengths(in: octets, at: start, end) {
                reach(start + length, Bits.repeat)
            }
            guard knowsWords else { continue }
            for reading in FrequentWords.Reading.allCases {
                FrequentWords.forEachWord(in: octets, at: start, upTo: end, reading: reading) {
                    length,
                    bits in
                    let short = length == FrequentWords.shortest ? Bits.writing : 0
                    reach(start + length, max(Bits.word, bits + Bits.writing) + short)
                }
            }
            if isUserName(octets, at: start, end) { reach(start + userName.count, Bits.word) }
            for next in Self.phraseEnds(in: octets, at: start, end) { reach(next, Bits.phrase) }
        }
        return min(cheapest[end].listed, cheapest[end].loose)
    }

    /// The lowest cost of a prefix.
    private struct Way {
        var listed = Int.max / 2
        var loose = Int.max / 2
    }

    // MARK: Words

    private func isUserName(_ octets: Span<UInt8>, at start: Int, _ end: Int) -> Bool {
        guard !userName.isEmpty, start + userName.count <= end else { return false }
        return userName.indices.allSatisfy { index in
            let typed = octets[start + index]
            return typed == userName[index] || Self.stands(typed, for: userName[index])
        }
    }

    /// Whether `typed` is this letter or a usual substitute for it.
    private static func stands(_ typed: UInt8, for letter: UInt8) -> Bool {
        FrequentWords.Reading.allCases.contains { FrequentWords.fold(typed, $0) == letter }
    }

    /// The ends of the listed phrases that begin at `start`, with or without spaces and punctuation.
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

    /// Whether a byte joins words, or the parts of one: `don't`.
    private static func isJoint(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ","),
            UInt8(ascii: "'"), UInt8(ascii: "/"), UInt8(ascii: ":"):
            true
        default: false
        }
    }

    /// The lengths for which the bytes at `start` repeat the bytes just before it.
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

    private static func cost(of octet: UInt8) -> Int {
        switch octet {
        case 0x80...0xBF: Bits.continuation
        case UInt8(ascii: " "), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."): Bits.space
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Bits.digit
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), 0xC0...:
            Bits.letter
        default: Bits.symbol
        }
    }

    /// Calls `body` for each run of at least three characters at `start`, with its length and the cost of one step: along
    /// the alphabet, a row of keys, or from key to key.
    ///
    /// Three random letters may form a run by chance: the minimum cost of a run keeps their estimate from falling too
    /// low.
    private static func forEachRun(
        in octets: Span<UInt8>,
        at start: Int,
        _ end: Int,
        _ body: (_ length: Int, _ step: Int) -> Void
    ) {
        var kinds: KeyStep = .all
        var index = start + 1
        while index < end {
            kinds.formIntersection(KeyStep(octets[index - 1], octets[index]))
            guard !kinds.isEmpty else { return }
            index += 1
            let length = index - start
            guard length > 2 else { continue }
            body(length, kinds == .neighbour && length < longestChance ? Bits.neighbour : Bits.step)
        }
    }

    private static func isYear(_ octets: Span<UInt8>, at start: Int, _ end: Int) -> Bool {
        guard start + 4 <= end else { return false }
        for index in start..<(start + 4) where !isDigit(octets[index]) { return false }
        let century = (octets[start], octets[start + 1])
        return century == (UInt8(ascii: "1"), UInt8(ascii: "9"))
            || century == (UInt8(ascii: "2"), UInt8(ascii: "0"))
    }

    private static func isLetter(_ octet: UInt8) -> Bool {
        switch octet {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): true
        default: false
        }
    }

    private static func isDigit(_ octet: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(octet)
    }
}
