/// Removes the escape sequences from a program's output, byte by byte.
///
/// Knows the forms of ECMA-48 (control sequences, strings) and the line-drawing characters of a VT100, which would
/// otherwise look like letters.
struct TerminalText {
    private enum State {
        case text
        case escape
        /// `ESC [`: parameters until a final byte.
        case control
        /// `ESC ]`, `ESC P`, `ESC X`, `ESC ^`, `ESC _`: until `BEL` or `ESC \`.
        case string
        /// `ESC (`, `ESC )` or `ESC #`: one more byte.
        case charset(of: UInt8)
    }

    private var state = State.text
    /// Whether the character sets G0 and G1 are that of line-drawing characters.
    private var drawsLines = (false, false)
    /// Whether G1 is used, between `SO` and `SI`.
    private var isShiftedOut = false

    /// The visible text, with a space or a line feed where the cursor was moved.
    private(set) var visible: [UInt8] = []
    /// The visible text without white space, because programs omit it and wrap lines as they like.
    private(set) var compact: [UInt8] = []

    /// Takes the next byte.
    mutating func take(_ octet: UInt8) {
        switch state {
        case .text: takeText(octet)
        case .escape:
            switch octet {
            case UInt8(ascii: "["): state = .control
            case UInt8(ascii: "]"), UInt8(ascii: "P"), UInt8(ascii: "X"), UInt8(ascii: "^"),
                UInt8(ascii: "_"):
                state = .string
            case UInt8(ascii: "("), UInt8(ascii: ")"), UInt8(ascii: "#"):
                state = .charset(of: octet)
            default: state = .text
            }
        case .control:
            guard (0x40...0x7E).contains(octet) else { return }
            switch octet {
            case UInt8(ascii: "H"), UInt8(ascii: "d"), UInt8(ascii: "f"): visible.append(UInt8(ascii: "\n"))
            case UInt8(ascii: "C"), UInt8(ascii: "G"): visible.append(UInt8(ascii: " "))
            default: break
            }
            state = .text
        case .string:
            if octet == 0x1B { state = .escape } else if octet == 0x07 { state = .text }
        case .charset(let designator):
            let isOfLines = octet == UInt8(ascii: "0")
            if designator == UInt8(ascii: "(") { drawsLines.0 = isOfLines }
            if designator == UInt8(ascii: ")") { drawsLines.1 = isOfLines }
            state = .text
        }
    }

    private mutating func takeText(_ octet: UInt8) {
        switch octet {
        case 0x1B: state = .escape
        case UInt8(ascii: "\n"), UInt8(ascii: " "): visible.append(octet)
        case 0x0E, 0x0F: isShiftedOut = octet == 0x0E
        case 0..<0x20, 0x7F: break
        default:
            if isShiftedOut ? drawsLines.1 : drawsLines.0 { return }
            visible.append(octet)
            compact.append(octet)
        }
    }
}
