import KeychainModel

/// Past authentications for the user.
extension PastAuthentication {
    /// A sentence for each, the newest first; none if the daemon could not say.
    static func sentences(_ past: [PastAuthentication]?) -> [String] {
        guard let past else { return [] }
        return past.isEmpty ? ["none since the daemon's start"] : past.map(\.sentence)
    }

    private var sentence: String {
        let shown =
            switch factor {
            case .biometry: isOfWeakSensor ? "a finger on a weak sensor" : "a finger"
            case .passcode: "the passcode"
            }
        return "\(shown), \(DateText.duration(seconds: age.components.seconds)) ago, for \(group.name)"
    }

    /// The members for programs.
    var json: JSONText {
        .object([
            ("factor", .text("\(factor)")),
            ("weakSensor", .flag(isOfWeakSensor)),
            ("secondsAgo", .number(age.components.seconds)),
            ("program", .text(group.name)),
        ])
    }
}
