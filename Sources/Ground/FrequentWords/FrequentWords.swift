internal import CFrequentWords

/// Frequently chosen passwords, words and names, with the number of guesses needed to reach each.
///
/// The lists are zxcvbn's. They are data in the program (`Sources/C/CFrequentWords`) and are read only while a passcode or
/// password is chosen. Each line is a block of sixteen words in order. A word is encoded as a capital letter for the number of
/// bytes it shares with the word before (A for none), the remaining bytes, and a mark for its rank. A lookup reads the typed
/// bytes in place.
public enum FrequentWords {
    /// The length of the shortest words listed, in bytes.
    ///
    /// Of two letters only the words of everyday sentences are listed: nearly
    /// every pair of letters is a word somewhere.
    package static let shortest = 2
    /// The length of the longest word listed, in bytes.
    static let longest = 25

    /// How digits and marks that stand for letters are read.
    package enum Reading: CaseIterable {
        /// As themselves.
        case plain
        /// As the letters that they resemble.
        case likeness
        /// As the letters that they resemble, but 1 for an l.
        case likenessOfOneWithL
        /// As the letters that they resemble, but 7 for an l.
        case likenessOfSevenWithL
    }

    /// Whether the password is listed, also backwards, in capitals or with digits and marks for letters (`P4$$w0rd`).
    public static func contains(_ password: String) -> Bool {
        let bytes = Array(password.utf8)
        return Reading.allCases.contains { reading in
            var isListed = false
            forEachWord(in: bytes.span, at: 0, upTo: bytes.count, reading: reading) { length, _ in
                if length == bytes.count { isListed = true }
            }
            forEachReversedWord(in: bytes.span, endingAt: bytes.count, reading: reading) { length, _ in
                if length == bytes.count { isListed = true }
            }
            return isListed
        }
    }

    /// Calls `body` with the length, and the rank as a power of two, of each word that stands at `start`.
    package static func forEachWord(
        in bytes: Span<UInt8>,
        at start: Int,
        upTo end: Int,
        reading: Reading,
        _ body: (_ length: Int, _ rankBits: Int) -> Void
    ) {
        forEachWord(in: bytes, Way(first: start, step: 1, count: end - start, reading: reading), body)
    }

    /// Calls `body` with the length, and the rank as a power of two, of each word that stands backwards just before `end`.
    package static func forEachReversedWord(
        in bytes: Span<UInt8>,
        endingAt end: Int,
        reading: Reading,
        _ body: (_ length: Int, _ rankBits: Int) -> Void
    ) {
        forEachWord(in: bytes, Way(first: end - 1, step: -1, count: end, reading: reading), body)
    }

    /// The lower-case letter or digit that a byte stands for; nil if it stands for none.
    package static func fold(_ byte: UInt8, _ reading: Reading) -> UInt8? {
        let small = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte + 0x20 : byte
        if reading != .plain, let letter = likeness(of: small, reading) { return letter }
        switch small {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): return small
        default: return nil
        }
    }

    /// Well-known phrases that people use as passphrases: examples, proverbs, verses, titles; lower-case letters and digits only.
    ///
    /// Their words would be good separately, but an attacker who guesses phrases tries these first.
    package static let phrases: [[UInt8]] = {
        let list = unsafe cfrequentwords_phrases()
        let text = unsafe UnsafeBufferPointer(start: list.bytes, count: list.count)
        return unsafe text.split { $0 == UInt8(ascii: "\n") }.map { line in
            line.filter { $0 > UInt8(ascii: " ") }
        }
    }()

    // MARK: The list of words

    /// How typed bytes are read: from where, in which direction, how many at most.
    private struct Way {
        let first: Int
        /// 1 forwards, -1 backwards.
        let step: Int
        let count: Int
        let reading: Reading

        /// The letter or digit at a position; nil if the byte there stands for none.
        func letter(_ index: Int, of bytes: Span<UInt8>) -> UInt8? {
            FrequentWords.fold(bytes[first + step * index], reading)
        }
    }

    /// A decoded word; public data.
    private struct Word {
        var bytes = [UInt8](repeating: 0, count: FrequentWords.longest)
        var count = 0
        var rankBits = 0
    }

    private static func forEachWord(
        in bytes: Span<UInt8>,
        _ way: Way,
        _ body: (_ length: Int, _ rankBits: Int) -> Void
    ) {
        var scratch = Word()
        for length in 1...min(longest, max(1, way.count)) {
            guard length <= way.count, way.letter(length - 1, of: bytes) != nil else { return }
            // No word has this prefix, so no longer one can match.
            guard lowerBound(in: bytes, way, length, &scratch) else { return }
            if scratch.count == length, length >= shortest { body(length, scratch.rankBits) }
        }
    }

    /// Decodes the first word that does not sort before the typed text.
    ///
    /// - Returns: whether that word begins with the whole typed text.
    private static func lowerBound(
        in bytes: Span<UInt8>,
        _ way: Way,
        _ length: Int,
        _ word: inout Word
    ) -> Bool {
        // Binary search: the last block whose first word does not sort after the typed text.
        var (low, high) = (0, blocks.count - 1)
        while low < high {
            let middle = (low + high + 1) / 2
            _ = decode(blocks[middle], &word)
            if compare(word, bytes, way, length) <= 0 { low = middle } else { high = middle - 1 }
        }
        var offset = blocks[low]
        while unsafe offset < text.count {
            offset = decode(offset, &word)
            if compare(word, bytes, way, length) >= 0 { return begins(word, bytes, way, length) }
        }
        return false
    }

    /// Decodes the word at an offset, given its predecessor in `word`; returns the offset of the next word.
    private static func decode(_ offset: Int, _ word: inout Word) -> Int {
        var offset = unsafe text[offset] == UInt8(ascii: "\n") ? offset + 1 : offset
        word.count = unsafe Int(text[offset] - UInt8(ascii: "A"))
        offset += 1
        while true {
            let byte = unsafe text[offset]
            offset += 1
            if let bits = marks.firstIndex(of: byte) {
                word.rankBits = bits + 1
                // The newline after the last word of the list.
                return unsafe offset + 1 == text.count ? text.count : offset
            }
            word.bytes[word.count] = byte
            word.count += 1
        }
    }

    /// Negative if the word sorts before the typed text, 0 if they are equal, positive if it sorts after.
    private static func compare(_ word: Word, _ bytes: Span<UInt8>, _ way: Way, _ length: Int) -> Int {
        for index in 0..<min(word.count, length) {
            let letter = way.letter(index, of: bytes) ?? 0
            if word.bytes[index] != letter { return Int(word.bytes[index]) - Int(letter) }
        }
        return word.count - length
    }

    private static func begins(_ word: Word, _ bytes: Span<UInt8>, _ way: Way, _ length: Int) -> Bool {
        guard word.count >= length else { return false }
        for index in 0..<length where word.bytes[index] != way.letter(index, of: bytes) { return false }
        return true
    }

    private static func likeness(of byte: UInt8, _ reading: Reading) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0"): UInt8(ascii: "o")
        case UInt8(ascii: "1"), UInt8(ascii: "!"), UInt8(ascii: "|"):
            reading == .likenessOfOneWithL ? UInt8(ascii: "l") : UInt8(ascii: "i")
        case UInt8(ascii: "2"): UInt8(ascii: "z")
        case UInt8(ascii: "3"): UInt8(ascii: "e")
        case UInt8(ascii: "4"), UInt8(ascii: "@"): UInt8(ascii: "a")
        case UInt8(ascii: "5"), UInt8(ascii: "$"): UInt8(ascii: "s")
        case UInt8(ascii: "6"), UInt8(ascii: "9"): UInt8(ascii: "g")
        case UInt8(ascii: "7"), UInt8(ascii: "+"):
            reading == .likenessOfSevenWithL ? UInt8(ascii: "l") : UInt8(ascii: "t")
        case UInt8(ascii: "8"): UInt8(ascii: "b")
        case UInt8(ascii: "("), UInt8(ascii: "{"), UInt8(ascii: "["), UInt8(ascii: "<"): UInt8(ascii: "c")
        case UInt8(ascii: "%"): UInt8(ascii: "x")
        default: nil
        }
    }

    /// By rank: the first mark is for ranks 1 and 2 of a list, each further mark for twice as many ranks as the one
    /// before.
    private static let marks = Array("!#$%&'()*+,-./:;".utf8)

    /// The list: constant bytes of the program.
    private nonisolated(unsafe) static let text: UnsafeBufferPointer<UInt8> = {
        let list = unsafe cfrequentwords_words()
        return unsafe UnsafeBufferPointer(start: list.bytes, count: list.count)
    }()

    /// The offset of each block.
    private static let blocks: [Int] = {
        var blocks = [0]
        for index in unsafe text.indices.dropLast() where unsafe text[index] == UInt8(ascii: "\n") {
            blocks.append(index + 1)
        }
        return blocks
    }()
}
