import KeychainModel

/// A prompt's origin after a look at it: what is malformed counts as not given.
struct PromptPlace: Sendable {
    /// `/dev/…`; whether it is a terminal is found out by ``PinentryTerminal``.
    var terminal: String?
    /// `TERM`; what every terminal understands where nothing is given.
    let terminalType: String
    /// `DISPLAY`.
    var display: String?
    /// `WAYLAND_DISPLAY`.
    var waylandDisplay: String?
    /// `XAUTHORITY`.
    let xAuthority: String?
    /// `LC_CTYPE`.
    let characterType: String

    /// Whether there is a display.
    var hasDisplay: Bool { display != nil || waylandDisplay != nil }

    /// Takes over what is well formed.
    init(_ origin: PromptOrigin) {
        terminal = origin.terminal.flatMap {
            $0.hasPrefix("/dev/") && !$0.contains("..") ? Self.word($0, upTo: 64, also: "/_-.") : nil
        }
        terminalType = Self.word(origin.terminalType, upTo: 64, also: "+-._") ?? "vt100"
        display = Self.word(origin.display, upTo: 255, also: ":./-_")
        waylandDisplay = Self.word(origin.waylandDisplay, upTo: 255, also: ":./-_")
        xAuthority = origin.xAuthority.flatMap {
            $0.hasPrefix("/") && $0.utf8.count < 4096 && $0.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }
                ? $0 : nil
        }
        let characterType = Self.word(origin.characterType, upTo: 64, also: "_.@-") ?? "C.UTF-8"
        // `C.UTF-8` is always installed, the user's own locale perhaps not; for letters they are the same.
        let isUTF8 = ["utf-8", "utf8"].contains { characterType.lowercased().hasSuffix($0) }
        self.characterType = isUTF8 ? "C.UTF-8" : characterType
    }

    /// ASCII letters, digits and some more; nil for anything else.
    private static func word(_ text: String?, upTo limit: Int, also others: String) -> String? {
        guard let text, !text.isEmpty, text.utf8.count <= limit else { return nil }
        let isWord = text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || others.contains($0)) }
        return isWord ? text : nil
    }
}
