import Glibc
import SecretMemory

/// How a new secret is generated, and how hard it is to guess.
enum GeneratedSecret {
    /// Characters, at least one of each kind, as many sites require.
    case characters(CharacterSet, count: Int)
    /// Words of the list, joined by a separator.
    case words(count: Int, separator: String)

    /// Generates a secret.
    func draw() throws(CommandError) -> SecretBytes {
        switch self {
        case .characters(let set, let count): try Self.characters(set, count)
        case .words(let count, let separator): try Self.words(count, separator)
        }
    }

    /// The binary logarithm of the number of possible secrets, rounded down.
    var bits: Int {
        switch self {
        case .characters(let set, let count): Int(Self.bits(set.kinds.map(\.count), count))
        case .words(let count, _): Int(Double(count) * log2(Double(WordList.count)))
        }
    }

    /// The method in words.
    var sentence: String {
        switch self {
        case .characters(_, let count): count == 1 ? "1 character" : "\(count) characters"
        case .words(let count, _): count == 1 ? "1 word" : "\(count) words"
        }
    }

    /// Draws all characters again until each kind occurs, so that every text with all kinds is equally likely;
    /// inserting the missing kind somewhere would bias the choice.
    private static func characters(_ set: CharacterSet, _ count: Int) throws(CommandError) -> SecretBytes {
        let characters = set.characters
        while true {
            let secret = try CommandMemory.make(count) { octets in
                for index in octets.indices {
                    octets[index] = characters[RandomChoice.number(below: characters.count)]
                }
            }
            let hasAll = secret.withOctets { octets in
                set.kinds.allSatisfy { kind in octets.indices.contains { kind.contains(octets[$0]) } }
            }
            if hasAll { return secret }
        }
    }

    private static func words(_ count: Int, _ separator: String) throws(CommandError) -> SecretBytes {
        var buffer = try CommandMemory.buffer(count * 16)
        for index in 0..<count {
            if index > 0 { for octet in separator.utf8 { buffer.append(octet) } }
            WordList.append(wordNumber: RandomChoice.number(below: WordList.count), to: &buffer)
        }
        return try CommandMemory.finish(buffer)
    }

    /// Inclusion–exclusion over the missing kinds.
    private static func bits(_ sizes: [Int], _ count: Int) -> Double {
        let all = sizes.reduce(0, +)
        var share = 0.0
        for missing in 0..<(1 << sizes.count) {
            let left = sizes.indices.reduce(all) { missing >> $1 & 1 == 1 ? $0 - sizes[$1] : $0 }
            let term = pow(Double(left) / Double(all), Double(count))
            share += missing.nonzeroBitCount % 2 == 0 ? term : -term
        }
        return Double(count) * log2(Double(all)) + log2(share)
    }
}

extension WordList {
    /// Appends the word with this number.
    fileprivate static func append(wordNumber number: Int, to buffer: inout SecretBuffer) {
        let octets = unsafe UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        var (word, start) = (0, 0)
        for unsafe(index, octet) in unsafe octets.enumerated() where octet <= UInt8(ascii: " ") {
            if word == number {
                return unsafe buffer.append(
                    contentsOf: UnsafeRawBufferPointer(rebasing: octets[start..<index])
                )
            }
            (word, start) = (word + 1, index + 1)
        }
        unsafe buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: octets[start...]))
    }
}
