/// Frequently chosen passwords, words and names, with the number of guesses needed to reach each.
///
/// The lists are zxcvbn's. They are constants of the program and are read only while a passcode or password is
/// chosen. Each line is a block of sixteen words in order. A word is encoded as a capital letter for the number of
/// bytes it shares with the word before (A for none), the remaining bytes, and a mark for its rank. A
/// lookup reads the typed bytes in place.
public enum FrequentWords {
    /// Shorter words occur in half of all passcodes.
    package static let shortest = 3
    /// The longest word listed.
    static let longest = 25

    /// How digits and marks that stand for letters are read.
    package enum Reading: CaseIterable {
        /// As themselves.
        case plain
        /// As the letters that they resemble.
        case likeness
        /// As the letters that they resemble, but 1 for an l.
        case likenessWithL
    }

    /// Whether the password is listed, also in capitals or with digits and marks for letters (`P4$$w0rd`).
    public static func contains(_ password: String) -> Bool {
        let octets = Array(password.utf8)
        return Reading.allCases.contains { reading in
            var isListed = false
            forEachWord(in: octets.span, at: 0, upTo: octets.count, reading: reading) { length, _ in
                if length == octets.count { isListed = true }
            }
            return isListed
        }
    }

    /// Calls `body` with the length, and the rank as a power of two, of each word that stands at `start`.
    package static func forEachWord(
        in octets: Span<UInt8>,
        at start: Int,
        upTo end: Int,
        reading: Reading,
        _ body: (_ length: Int, _ rankBits: Int) -> Void
    ) {
        text.withUTF8Buffer { text in
            var scratch = Word()
            for length in 1...min(longest, max(1, end - start)) {
                guard start + length <= end, fold(octets[start + length - 1], reading) != nil else { return }
                let found = unsafe lowerBound(text, octets, start, length, reading, &scratch)
                // No word has this prefix, so no longer one can match.
                guard found else { return }
                if scratch.count == length, length >= shortest { body(length, scratch.rankBits) }
            }
        }
    }

    /// A decoded word; public data.
    private struct Word {
        var octets = [UInt8](repeating: 0, count: FrequentWords.longest)
        var count = 0
        var rankBits = 0
    }

    /// Decodes the first word that does not sort before the typed text.
    ///
    /// - Returns: whether that word begins with the whole typed text.
    private static func lowerBound(
        _ text: UnsafeBufferPointer<UInt8>,
        _ octets: Span<UInt8>,
        _ start: Int,
        _ length: Int,
        _ reading: Reading,
        _ word: inout Word
    ) -> Bool {
        // Binary search: the last block whose first word does not sort after the typed text.
        var (low, high) = (0, blocks.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            _ = unsafe decode(text, blocks[middle], &word)
            if compare(word, octets, start, length, reading) <= 0 { low = middle } else { high = middle - 1 }
        }
        var offset = blocks[low]
        while offset < text.count {
            offset = unsafe decode(text, offset, &word)
            if compare(word, octets, start, length, reading) >= 0 {
                return begins(word, octets, start, length, reading)
            }
        }
        return false
    }

    /// Decodes the word at an offset, given its predecessor in `word`; returns the offset of the next word.
    private static func decode(
        _ text: UnsafeBufferPointer<UInt8>,
        _ offset: Int,
        _ word: inout Word
    ) -> Int {
        var offset = unsafe text[offset] == UInt8(ascii: "\n") ? offset + 1 : offset
        word.count = unsafe Int(text[offset] - UInt8(ascii: "A"))
        offset += 1
        while true {
            let octet = unsafe text[offset]
            offset += 1
            if let bits = marks.firstIndex(of: octet) {
                word.rankBits = bits + 1
                return offset
            }
            word.octets[word.count] = octet
            word.count += 1
        }
    }

    /// Negative if the word sorts before the typed text, 0 if they are equal, positive if it sorts after.
    private static func compare(
        _ word: Word,
        _ octets: Span<UInt8>,
        _ start: Int,
        _ length: Int,
        _ reading: Reading
    ) -> Int {
        for index in 0..<min(word.count, length) {
            let typed = fold(octets[start + index], reading) ?? 0
            if word.octets[index] != typed { return Int(word.octets[index]) - Int(typed) }
        }
        return word.count - length
    }

    private static func begins(
        _ word: Word,
        _ octets: Span<UInt8>,
        _ start: Int,
        _ length: Int,
        _ reading: Reading
    ) -> Bool {
        guard word.count >= length else { return false }
        for index in 0..<length where word.octets[index] != fold(octets[start + index], reading) {
            return false
        }
        return true
    }

    /// The lower-case letter or digit that a byte stands for; nil if it stands for none.
    package static func fold(_ octet: UInt8, _ reading: Reading) -> UInt8? {
        let small = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(octet) ? octet + 0x20 : octet
        if reading != .plain, let letter = likeness(of: small, reading) { return letter }
        switch small {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): return small
        default: return nil
        }
    }

    private static func likeness(of octet: UInt8, _ reading: Reading) -> UInt8? {
        switch octet {
        case UInt8(ascii: "0"): UInt8(ascii: "o")
        case UInt8(ascii: "1"), UInt8(ascii: "!"), UInt8(ascii: "|"):
            reading == .likenessWithL ? UInt8(ascii: "l") : UInt8(ascii: "i")
        case UInt8(ascii: "2"): UInt8(ascii: "z")
        case UInt8(ascii: "3"): UInt8(ascii: "e")
        case UInt8(ascii: "4"), UInt8(ascii: "@"): UInt8(ascii: "a")
        case UInt8(ascii: "5"), UInt8(ascii: "$"): UInt8(ascii: "s")
        case UInt8(ascii: "7"), UInt8(ascii: "+"): UInt8(ascii: "t")
        case UInt8(ascii: "8"): UInt8(ascii: "b")
        case UInt8(ascii: "9"): UInt8(ascii: "g")
        default: nil
        }
    }

    /// By rank: the first mark is for ranks 1 and 2 of a list, each further mark for twice as many ranks as the one
    /// before.
    private static let marks = Array("!#$%&'()*+,-./:;".utf8)

    /// The offset of each block.
    private static let blocks: [Int] = text.withUTF8Buffer { text in
        var blocks = [0]
        for index in text.indices where unsafe text[index] == UInt8(ascii: "\n") { blocks.append(index + 1) }
        return blocks
    }
}
