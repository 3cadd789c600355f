import Glibc
import KeychainModel

/// A validated prompt origin: malformed values count as absent.
struct PromptPlace: Sendable {
    /// A path of ``TerminalPath``; ``PinentryTerminal`` checks whether it is a terminal.
    var terminal: String?
    /// `TERM`; without one that curses knows `vt100`, which every terminal understands.
    let terminalType: String
    /// `DISPLAY`.
    var display: String?
    /// `WAYLAND_DISPLAY`.
    var waylandDisplay: String?
    /// `XAUTHORITY`.
    let xAuthority: String?
    /// `LC_CTYPE`.
    let characterType: String
    /// `LC_MESSAGES`, for the program's own messages; nil for English.
    let language: String?
    /// The language of what Touchstone says: English where the terminal has no letters of other languages.
    let words: PromptWords

    /// Whether the terminal takes UTF-8.
    var takesUTF8: Bool { characterType == Self.utf8 }

    /// Whether there is a display.
    var hasDisplay: Bool { display != nil || waylandDisplay != nil }

    /// Keeps the well-formed values.
    init(_ origin: PromptOrigin) {
        terminal = origin.terminal.flatMap { TerminalPath.isUsable($0) ? $0 : nil }
        let terminalType = Self.word(origin.terminalType, upTo: 64, also: "+-._")
        self.terminalType = terminalType.flatMap { Self.isDescribed($0) ? $0 : nil } ?? "vt100"
        display = Self.word(origin.display, upTo: 255, also: ":./-_")
        waylandDisplay = Self.word(origin.waylandDisplay, upTo: 255, also: ":./-_")
        xAuthority = origin.xAuthority.flatMap {
            $0.hasPrefix("/") && $0.utf8.count < 4096 && $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
                ? $0 : nil
        }
        let characterType = Self.word(origin.characterType, upTo: 64, also: "_.@-") ?? Self.utf8
        // `C.UTF-8` is always installed, the user's own locale perhaps not; for letters they are equal.
        let isUTF8 = ["utf-8", "utf8"].contains { characterType.lowercased().hasSuffix($0) }
        self.characterType = isUTF8 ? Self.utf8 : characterType
        words = isUTF8 ? PromptWords.chosen(origin.language) : .english
        language = words == .english ? nil : Self.word(origin.language, upTo: 64, also: "_.@-")
    }

    private static let utf8 = "C.UTF-8"

    /// Whether the system's terminfo(5) describes a type of terminal; the program gets no `HOME` and no `TERMINFO`.
    private static func isDescribed(_ type: String) -> Bool {
        guard let first = type.utf8.first, first != UInt8(ascii: ".") else { return false }
        return ["/etc/terminfo", "/lib/terminfo", "/usr/share/terminfo"].contains { directory in
            // By the first letter, or by its number where the file system ignores case.
            ["\(Character(Unicode.Scalar(first)))", String(first, radix: 16)].contains {
                unsafe access("\(directory)/\($0)/\(type)", R_OK) == 0
            }
        }
    }

    /// The text if it consists of ASCII letters, digits and `others`; nil otherwise.
    private static func word(_ text: String?, upTo limit: Int, also others: String) -> String? {
        guard let text, !text.isEmpty, text.utf8.count <= limit else { return nil }
        let isWord = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || others.contains($0)) }
        return isWord ? text : nil
    }
}
