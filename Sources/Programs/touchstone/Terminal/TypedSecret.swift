import Glibc
import KeychainModel
import SecretMemory

/// A secret as it is typed or pasted at a terminal without line mode, which would cut a line after 4095 bytes.
///
/// A terminal with bracketed paste says where a pasted text begins and ends: its lines are all taken. Otherwise Enter ends
/// the secret. Keys that are no text are refused: nothing is stored that differs from what was typed.
struct TypedSecret: ~Copyable {
    /// What a key did.
    enum Step {
        case goesOn
        /// Enter was pressed.
        case isComplete
        /// End of file.
        case isCancelled
        /// An arrow or function key, or an escape character in a text pasted without brackets.
        case isRefused
    }

    private static let escape: UInt8 = 0x1B
    /// xterm's "Bracketed Paste Mode", after the escape character.
    private static let pasteStart = Array("[200~".utf8)
    private static let pasteEnd = Array("[201~".utf8)

    private let keys: EditingKeys
    private var text: SecretBuffer
    /// The bytes of an escape sequence so far, without the escape character; nil outside of one.
    private var sequence: [UInt8]?
    private(set) var isPasting = false
    private var isLiteral = false
    private var isAfterReturn = false

    /// Nothing yet; `keys` are the terminal's for erasing.
    init(_ keys: EditingKeys) throws(CommandError) {
        // Before any input: a secret that cannot be stored is not asked for.
        text = try CommandMemory.buffer(4096)
        self.keys = keys
    }

    /// The number of bytes so far.
    var count: Int { text.count }

    /// Takes the next byte that the terminal sent.
    mutating func take(_ octet: UInt8) throws(CommandError) -> Step {
        if let began = sequence { return takeInSequence(began, octet) }
        if isLiteral {
            isLiteral = false
            text.append(octet)
            return .goesOn
        }
        if octet == Self.escape {
            sequence = []
            return .goesOn
        }
        if isPasting {
            paste(octet)
            return .goesOn
        }
        switch octet {
        case 0x0D, 0x0A: return .isComplete
        case _ where keys.endsFile(octet): return .isCancelled
        case _ where keys.isLiteralNext(octet): isLiteral = true
        case _ where keys.erases(octet): try erase(to: lastCharacter)
        case _ where keys.erasesWord(octet): try erase(to: lastWord)
        case _ where keys.erasesLine(octet): try erase(to: 0)
        default: text.append(octet)
        }
        return .goesOn
    }

    /// The secret.
    consuming func finish() throws(CommandError) -> SecretBytes { try CommandMemory.finish(text) }

    private mutating func takeInSequence(_ began: [UInt8], _ octet: UInt8) -> Step {
        let now = began + [octet]
        let mark = isPasting ? Self.pasteEnd : Self.pasteStart
        if now == mark {
            isPasting.toggle()
            sequence = nil
            isAfterReturn = false
        } else if mark.starts(with: now) {
            sequence = now
        } else if isPasting {
            // No mark: it belongs to the text.
            text.append(Self.escape)
            for octet in began { text.append(octet) }
            sequence = nil
            if octet == Self.escape { sequence = [] } else { paste(octet) }
        } else {
            return .isRefused
        }
        return .goesOn
    }

    /// Terminals paste a line's end as a carriage return.
    private mutating func paste(_ octet: UInt8) {
        if octet == 0x0A, isAfterReturn {
            isAfterReturn = false
            return
        }
        isAfterReturn = octet == 0x0D
        text.append(octet == 0x0D ? 0x0A : octet)
    }

    private var lastCharacter: Int {
        text.withOctets { octets in
            var end = octets.count
            // The continuation bytes of UTF-8 belong to the byte before them.
            while end > 0 {
                end -= 1
                if octets[end] & 0xC0 != 0x80 { break }
            }
            return end
        }
    }

    private var lastWord: Int {
        text.withOctets { octets in
            var end = octets.count
            while end > 0, octets[end - 1] == 0x20 || octets[end - 1] == 0x09 { end -= 1 }
            while end > 0, octets[end - 1] != 0x20, octets[end - 1] != 0x09 { end -= 1 }
            return end
        }
    }

    private mutating func erase(to count: Int) throws(CommandError) {
        var rest = try CommandMemory.buffer(text.capacity)
        text.withOctets { rest.append(contentsOf: $0.extracting(..<count)) }
        swap(&text, &rest)
    }
}

/// The terminal's own keys for editing a line, as stty(1) sets them.
struct EditingKeys {
    private let erase: UInt8
    private let eraseWord: UInt8
    private let eraseLine: UInt8
    private let endOfFile: UInt8
    private let literalNext: UInt8

    init(_ mode: termios) {
        var mode = mode
        let keys = unsafe withUnsafeBytes(of: &mode.c_cc) { unsafe Array($0) }
        erase = keys[Int(VERASE)]
        eraseWord = keys[Int(VWERASE)]
        eraseLine = keys[Int(VKILL)]
        endOfFile = keys[Int(VEOF)]
        literalNext = keys[Int(VLNEXT)]
    }

    // Zero is `_POSIX_VDISABLE`: there is no such key.
    func erases(_ octet: UInt8) -> Bool { octet != 0 && octet == erase || octet == 0x08 || octet == 0x7F }
    func erasesWord(_ octet: UInt8) -> Bool { octet != 0 && octet == eraseWord }
    func erasesLine(_ octet: UInt8) -> Bool { octet != 0 && octet == eraseLine }
    func endsFile(_ octet: UInt8) -> Bool { octet != 0 && octet == endOfFile }
    func isLiteralNext(_ octet: UInt8) -> Bool { octet != 0 && octet == literalNext }
}
