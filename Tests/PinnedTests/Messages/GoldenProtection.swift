import KeychainModel
import Testing

/// The messages about the protection against theft.
enum GoldenProtection {
    private typealias Value = GoldenValues

    static func requests() throws -> [GoldenMessage] {
        func request(_ name: String, _ change: ChangeProtection.Change, _ prompt: PromptFields) throws
            -> GoldenMessage
        {
            try .request(.changeProtection, comparing: name, ChangeProtection(change, prompt: prompt))
        }
        return [
            try request("mode", .mode(.always), Value.prompt),
            try request("trust", .trustHere, Value.noPrompt),
            try request("distrust", .distrust(Array("home".utf8)), Value.noPrompt),
        ]
    }

    static func replies() throws -> [GoldenMessage] {
        let home = try #require(NetworkPlace(profile: "1-2", name: Array("home".utf8)))
        let raw = try #require(NetworkPlace(profile: "3-4", name: [0xFF, 0x00]))
        let waiting = CredentialChange.allCases.map {
            WaitingChange($0, secondsLeft: 60 * Int64($0.rawValue))
        }
        return [
            .reply(
                .readProtection,
                comparing: "away",
                ProtectionReply(mode: .away, places: [home, raw], here: .success(raw), waiting: waiting)
            )
        ]
            + PlaceError.allCases.map { fault in
                .reply(
                    .readProtection,
                    comparing: "\(fault)",
                    ProtectionReply(mode: .off, places: [], here: .failure(fault), waiting: [])
                )
            }
    }
}
