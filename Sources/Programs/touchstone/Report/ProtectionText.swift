import KeychainModel

/// The protection against theft in words.
extension ProtectionReply {
    /// The mode, and what it means here.
    var sentence: String {
        switch mode {
        case .off: "off"
        case .always: "on: changes of the passcode, the recovery code and the fingers wait an hour"
        case .away:
            isInTrustedPlace
                ? "on away from trusted places; this is one"
                : "on: away from trusted places, changes of the passcode, the recovery code and the fingers wait an hour"
        }
    }

    /// The changes that wait, one sentence each.
    var waits: [String] { waiting.map(\.sentence) }
}

extension WaitingChange {
    /// When the change can be made.
    var sentence: String {
        let left = DateText.duration(seconds: secondsLeft)
        if change == .fingers { return "the enrolled fingers have changed: they count in \(left)" }
        let asked = "a change of \(change.noun) was asked for"
        return secondsLeft > 0 ? "\(asked): it can be made in \(left)" : "\(asked): it can be made now"
    }
}

extension CredentialChange {
    fileprivate var noun: String {
        switch self {
        case .passcode: "the passcode"
        case .recoveryCode: "the recovery code"
        case .protection: "the theft protection"
        case .fingers: "the fingers"
        }
    }
}

extension TheftProtection {
    /// The name for programs.
    var name: String { String(describing: self) }
}

extension NetworkPlace {
    private static let hexadecimalMark = "hex:"

    /// The network's name as the commands take it: as it is, or in hexadecimal if it is no plain text.
    var text: String { Self.text(of: name) }

    private static func text(of name: [UInt8]) -> String {
        if let text = String(validating: name, as: UTF8.self), Printable.isPlain(text),
            !text.hasPrefix(hexadecimalMark)
        {
            return text
        }
        return hexadecimalMark + HexText.of(name)
    }

    /// The bytes of a network's name as ``text`` writes it; nil for none.
    static func name(typed text: String) -> [UInt8]? {
        let name =
            text.hasPrefix(hexadecimalMark)
            ? HexText.octets(text.dropFirst(hexadecimalMark.count)) : Array(text.utf8)
        return name.flatMap { (1...longestName).contains($0.count) ? $0 : nil }
    }
}
