/// Estimates how many guesses, as a power of two, somebody needs who tries words and patterns first.
///
/// The cheapest way to make the octets counts: a listed word, also in capitals or with digits for letters,
/// costs as much as choosing it from a thousand; a step along the alphabet or the keyboard costs next to
/// nothing.
struct Guessability {
    private enum Bits {
        static let word = 10
        static let year = 5
        static let letter = 5
        static let digit = 3
        static let symbol = 6
        static let space = 1
        static let step = 1
        static let continuation = 2
    }

    /// Words in small letters and digits, by their first octet.
    private let words: [UInt8: [[UInt8]]]
    private let userName: [UInt8]

    init(words: [UInt8: [[UInt8]]], userName: String?) {
        self.words = words
        // Shorter names are in half of all passcodes.
        let name = (userName ?? "").lowercased().utf8.filter { $0 > 0x20 }
        self.userName = name.count >= 3 ? Array(name) : []
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
            for length in wordLengths(in: octets, at: start, end) { reach(start + length, Bits.word) }
        }
        return cheapest[end]
    }

    // MARK: Words

    private func wordLengths(in octets: Span<UInt8>, at start: Int, _ end: Int) -> [Int] {
        let first = Self.lowercased(octets[start])
        var lengths: [Int] = []
        func look(for words: [[UInt8]]) {
            for word in words where Self.isHere(word, in: octets, at: start, end) {
                lengths.append(word.count)
            }
        }
        if let words = words[first] { look(for: words) }
        if let words = Self.likeness(of: first).flatMap({ words[$0] }) { look(for: words) }
        look(for: [userName])
        return lengths
    }

    private static func isHere(_ word: [UInt8], in octets: Span<UInt8>, at start: Int, _ end: Int) -> Bool {
        guard !word.isEmpty, start + word.count <= end else { return false }
        for index in word.indices where !stands(octets[start + index], for: word[index]) { return false }
        return true
    }

    /// Whether `typed` is this letter or digit of a word, or what people write in its place.
    private static func stands(_ typed: UInt8, for letter: UInt8) -> Bool {
        let small = lowercased(typed)
        return small == letter || likeness(of: small) == letter
    }

    private static func lowercased(_ octet: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(octet) ? octet + 0x20 : octet
    }

    private static func likeness(of octet: UInt8) -> UInt8? {
        switch octet {
        case UInt8(ascii: "0"): UInt8(ascii: "o")
        case UInt8(ascii: "1"), UInt8(ascii: "!"), UInt8(ascii: "|"): UInt8(ascii: "i")
        case UInt8(ascii: "3"): UInt8(ascii: "e")
        case UInt8(ascii: "4"), UInt8(ascii: "@"): UInt8(ascii: "a")
        case UInt8(ascii: "5"), UInt8(ascii: "$"): UInt8(ascii: "s")
        case UInt8(ascii: "7"), UInt8(ascii: "+"): UInt8(ascii: "t")
        case UInt8(ascii: "8"): UInt8(ascii: "b")
        case UInt8(ascii: "9"): UInt8(ascii: "g")
        default: nil
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
