internal import FrequentWords

/// Estimates, as a power of two, how many guesses an attacker needs who tries words and patterns first.
///
/// The method is zxcvbn's (Wheeler, "zxcvbn: Low-Budget Password Strength Estimation", USENIX Security 2016) on its lists: the
/// cheapest way to compose the bytes of words, also reversed, in capitals, with digits for letters and joined, of years,
/// repetitions and runs. Two things differ, because its own scale accepts most joined words (`MyDogIsBrown2019`) at any
/// bound that random letters pass. A letter outside words costs 5 bits instead of those of ten guesses, plus the position of
/// the border to the next word: words and runs that occur in random letters by chance have to be located among them, which
/// costs as much as they save. And a longer sequence costs nothing but its parts: the attacker knows such sequences.
struct Guessability {
    private enum Bits {
        /// One of the thousand most frequent words.
        static let word = 10
        /// A word of three letters: two bits less than its letters.
        static let shortWord = 12
        /// A word of two letters, such as `my` and `is`.
        static let particle = 6
        /// The spelling of a word (capitals, digits) and how it is joined to the next.
        static let writing = 2
        /// That a word is written backwards.
        static let reversal = 2
        /// A border between a word and letters outside any word: the attacker has to guess its position.
        static let border = 5
        static let phrase = 10
        static let `repeat` = 2
        /// The repetition of something that is not adjacent, also with other capitals.
        static let recurrence = 6
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

    /// Shorter words occur backwards in random letters by chance.
    private static let shortestReversed = 4
    /// Shorter texts occur twice in random letters by chance.
    private static let shortestRecurrence = 4
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
            if knowsWords { reachByReversedWords(in: octets, start, &cheapest) }
            let before = cheapest[start]
            let listed = before.afterBorder
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
            let recurring = Self.recurringLength(in: octets, at: start, end)
            for length in stride(from: Self.shortestRecurrence, through: recurring, by: 1) {
                reach(start + length, Bits.recurrence)
            }
            guard knowsWords else { continue }
            for reading in FrequentWords.Reading.allCases {
                FrequentWords.forEachWord(in: octets, at: start, upTo: end, reading: reading) {
                    length,
                    bits in
                    // Two digits that look like `it` are two digits.
                    if length == FrequentWords.shortest, reading != .plain { return }
                    let likeness = length == 3 && reading != .plain ? Bits.writing : 0
                    reach(start + length, Self.cost(ofWordAt: start, length, bits, in: octets) + likeness)
                }
            }
            if isUserName(octets, at: start, end) { reach(start + userName.count, Bits.word) }
            for next in Self.phraseEnds(in: octets, at: start, end) { reach(next, Bits.phrase) }
        }
        if knowsWords { reachByReversedWords(in: octets, end, &cheapest) }
        return min(cheapest[end].listed, cheapest[end].loose)
    }

    /// The lowest cost of a prefix.
    private struct Way {
        var listed = Int.max / 2
        var loose = Int.max / 2

        /// The cost before a word or another part that is not loose letters.
        var afterBorder: Int { min(listed, loose + Bits.border) }
    }

    // MARK: Words

    /// Lowers the cost of the prefix that ends at `end` by the words that stand backwards before it.
    private func reachByReversedWords(in octets: Span<UInt8>, _ end: Int, _ cheapest: inout [Way]) {
        var least = cheapest[end].listed
        for reading in FrequentWords.Reading.allCases {
            FrequentWords.forEachReversedWord(in: octets, endingAt: end, reading: reading) { length, bits in
                guard length >= Self.shortestReversed else { return }
                let start = end - length
                let word = Self.cost(ofWordAt: start, length, bits, in: octets)
                least = min(least, cheapest[start].afterBorder + word + Bits.reversal)
            }
        }
        cheapest[end].listed = least
    }

    /// The cost of a listed word.
    private static func cost(ofWordAt start: Int, _ length: Int, _ rankBits: Int, in octets: Span<UInt8>)
        -> Int
    {
        let word =
            switch length {
            case ...2: Bits.particle
            case 3: max(Bits.shortWord, rankBits + 2 * Bits.writing)
            default: max(Bits.word, rankBits + Bits.writing)
            }
        return word + capitalBits(in: octets, at: start, length)
    }

    /// What capitals cost beyond ``Bits/writing``: nothing in the first or last place or in all, otherwise the number of ways to
    /// distribute as many (zxcvbn's `uppercase_variations`).
    private static func capitalBits(in octets: Span<UInt8>, at start: Int, _ length: Int) -> Int {
        var (upper, lower) = (0, 0)
        for index in start..<(start + length) where isLetter(octets[index]) {
            if isCapital(octets[index]) { upper += 1 } else { lower += 1 }
        }
        let isUsual = isCapital(octets[start]) || isCapital(octets[start + length - 1])
        if upper == 0 || lower == 0 || upper == 1 && isUsual { return 0 }
        // Words have at most 25 letters.
        var (variations, choices) = (0, 1)
        for count in 1...min(upper, lower) {
            choices = choices * (upper + lower - count + 1) / count
            variations += choices
        }
        return Int.bitWidth - 1 - variations.leadingZeroBitCount
    }

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
            for phrase in phrases[first] ?? [] {
                if let next = self.end(of: phrase, in: octets, at: start, end) { ends.append(next) }
            }
        }
        return ends
    }

    /// The listed phrases by their first letter.
    private static let phrases = Dictionary(grouping: FrequentWords.phrases) { $0[0] }

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

    /// The length of the longest text at `start` that stands somewhere before it, without regard to capitals.
    private static func recurringLength(in octets: Span<UInt8>, at start: Int, _ end: Int) -> Int {
        var longest = 0
        for earlier in max(0, start - longestRepeat)..<start {
            var length = 0
            while earlier + length < start, start + length < end,
                isSame(octets[earlier + length], octets[start + length])
            {
                length += 1
            }
            longest = max(longest, length)
        }
        return longest
    }

    // MARK: Single characters

    /// Whether two bytes are equal but for case.
    private static func isSame(_ octet: UInt8, _ other: UInt8) -> Bool {
        octet == other || isLetter(octet) && octet ^ other == 0x20
    }

    private static func isCapital(_ octet: UInt8) -> Bool {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(octet)
    }

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
