import Glibc
import SecretMemory

/// Replaces secrets in a stream of bytes, even if they are split between pieces.
///
/// A possible start of a secret is held back, in locked memory, until later bytes decide; never more than the longest
/// secret. Overlapping or adjacent secrets are replaced by a single mask.
struct MaskingFilter: ~Copyable {
    /// The text that replaces a secret.
    static let mask = "<concealed by touchstone>"

    private let patterns: [MaskedPattern]
    /// For each byte value, whether a pattern starts with it.
    private let starts: [Bool]
    private var held: SecretBuffer
    private var spare: SecretBuffer
    /// How many of the next bytes belong to a secret that is already masked.
    private var covered = 0

    /// Allocates all locked memory, for pieces of up to `largestPiece` bytes, so that none can be missing once the
    /// command runs.
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

    /// Takes the next piece, and passes on the bytes that are decided.
    ///
    /// - Parameters:
    ///   - octets: the piece.
    ///   - isEnd: whether this is the last piece; nothing is then held back.
    ///   - body: writes bytes; may be called several times.
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

    /// The length of the longest secret that starts here; nil if more bytes are needed to decide.
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

/// A form in which a secret may appear in a stream.
final class MaskedPattern {
    private let secret: SecretBytes

    let count: Int
    let firstOctet: UInt8

    private init(_ secret: consuming SecretBytes) {
        count = secret.count
        firstOctet = secret.withOctets { $0[0] }
        self.secret = secret
    }

    /// The patterns of released secrets: as stored but without newlines at the end, and with a terminal's line ends (CR
    /// LF).
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

    /// Whether the first `count` bytes of `octets` and of the pattern are equal.
    func starts(_ octets: UnsafeRawBufferPointer, count: Int) -> Bool {
        unsafe secret.withUnsafeBytes { mine in
            guard let mine = mine.baseAddress, let octets = octets.baseAddress else { return false }
            return unsafe memcmp(mine, octets, count) == 0
        }
    }
}
