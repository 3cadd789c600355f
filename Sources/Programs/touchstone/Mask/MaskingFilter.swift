import Glibc
import SecretMemory

/// Replaces secrets in a stream of bytes, wherever its pieces begin and end.
///
/// What could be the start of a secret is held back until the rest shows; never more than the longest secret, and in
/// locked memory. Where secrets overlap or follow each other, one mask stands for all.
struct MaskingFilter: ~Copyable {
    /// What stands in a secret's place.
    static let mask = "<concealed by touchstone>"

    private let patterns: [MaskedPattern]
    /// The bytes that a pattern starts with.
    private let starts: [Bool]
    private var held: SecretBuffer
    private var spare: SecretBuffer
    /// How many of the next bytes belong to a secret that was masked.
    private var covered = 0

    /// All locked memory is taken now, for pieces of up to `largestPiece` bytes: a command that runs already is not
    /// stopped for the lack of it.
    init(_ patterns: [MaskedPattern], largestPiece: Int) throws(CommandError) {
        let capacity = largestPiece + (patterns.map(\.count).max() ?? 0)
        let held = try CommandMemory.buffer(capacity)
        let spare = try CommandMemory.buffer(capacity)
        self.held = held
        self.spare = spare
        self.patterns = patterns
        var starts = [Bool](repeating: false, count: 256)
        for pattern in patterns { starts[Int(pattern.firstOctet)] = true }
        self.starts = starts
    }

    /// Takes the next piece and hands on what is decided.
    ///
    /// - Parameters:
    ///   - octets: the piece.
    ///   - isEnd: whether this is the last one: nothing is held back then.
    ///   - body: gets bytes to write, several times.
    mutating func filter(
        _ octets: UnsafeRawBufferPointer,
        isEnd: Bool,
        _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        unsafe held.append(contentsOf: octets)
        let count = held.count
        var covered = covered
        let decided = unsafe held.withUnsafeBytes { octets in
            var (index, plain) = (0, 0)
            while index < count {
                if starts[Int(unsafe octets[index])] {
                    let rest = unsafe UnsafeRawBufferPointer(rebasing: octets[index...])
                    guard let length = unsafe longestMatch(in: rest, isEnd: isEnd) else { break }
                    if length > 0, covered == 0 {
                        unsafe body(UnsafeRawBufferPointer(rebasing: octets[plain..<index]))
                        var mask = Self.mask
                        mask.withUTF8 { unsafe body(UnsafeRawBufferPointer($0)) }
                    }
                    covered = max(covered, length)
                }
                index += 1
                if covered > 0 {
                    covered -= 1
                    plain = index
                }
            }
            if plain < index { unsafe body(UnsafeRawBufferPointer(rebasing: octets[plain..<index])) }
            unsafe spare.append(contentsOf: UnsafeRawBufferPointer(rebasing: octets[index...]))
            return index
        }
        self.covered = covered
        assert(decided + spare.count == count)
        held.removeAll(keepingCapacity: true)
        swap(&held, &spare)
    }

    /// The length of the longest secret that starts here; nil when more bytes have to come to tell.
    private func longestMatch(in octets: UnsafeRawBufferPointer, isEnd: Bool) -> Int? {
        var longest = 0
        for pattern in patterns where pattern.count > longest {
            if pattern.count <= octets.count {
                if unsafe pattern.starts(octets, count: pattern.count) { longest = pattern.count }
            } else if !isEnd, unsafe pattern.starts(octets, count: octets.count) {
                return nil
            }
        }
        return longest
    }
}

/// A secret as a stream may show it.
final class MaskedPattern {
    private let secret: SecretBytes

    let count: Int
    let firstOctet: UInt8

    private init(_ secret: consuming SecretBytes) {
        count = secret.count
        firstOctet = secret.withOctets { $0[0] }
        self.secret = secret
    }

    /// The patterns for released secrets: as stored, without newlines at the end, and with the line ends of a terminal.
    static func patterns(of secrets: ReleasedSecrets) throws(CommandError) -> [MaskedPattern] {
        var patterns: [MaskedPattern] = []
        try secrets.forEach { secret throws(CommandError) in
            let trimmed = secret.withOctets { octets in
                var length = octets.count
                while length > 0, octets[length - 1] == 0x0A || octets[length - 1] == 0x0D { length -= 1 }
                return length
            }
            guard trimmed > 0 else { return }
            let copy = try secret.withOctets { octets throws(CommandError) in
                try CommandMemory.copy(octets.extracting(..<trimmed))
            }
            patterns.append(MaskedPattern(copy))
            let holdsLines = secret.withOctets { octets in (0..<trimmed).contains { octets[$0] == 0x0A } }
            guard holdsLines else { return }
            var buffer = try CommandMemory.buffer(2 * trimmed)
            secret.withOctets { octets in
                for index in 0..<trimmed {
                    if octets[index] == 0x0A { buffer.append(0x0D) }
                    buffer.append(octets[index])
                }
            }
            patterns.append(MaskedPattern(try CommandMemory.finish(buffer)))
        }
        return patterns
    }

    /// Whether bytes begin as this does, over `count` of them.
    func starts(_ octets: UnsafeRawBufferPointer, count: Int) -> Bool {
        unsafe secret.withUnsafeBytes { mine in
            guard let mine = mine.baseAddress, let octets = octets.baseAddress else { return false }
            return unsafe memcmp(mine, octets, count) == 0
        }
    }
}
