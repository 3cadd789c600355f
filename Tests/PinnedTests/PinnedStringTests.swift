import Testing

/// What is stored or derives a key: with another value, nothing that was stored before can be found or opened.
@Suite("Strings that are stored or derive keys are what they always were")
struct PinnedStringTests {
    enum Part: CaseIterable, Sendable {
        case engine, system, fronts

        func strings() throws -> [StoredString] {
            switch self {
            case .engine: try EngineStrings.all()
            case .system: try SystemStrings.all()
            case .fronts: try FrontStrings.all()
            }
        }
    }

    @Test("each string has its value", arguments: Part.allCases)
    func values(part: Part) throws {
        for string in try part.strings() { #expect(string.now == string.always, "\(string.name)") }
    }

    @Test(
        "no HKDF label is a label and a way of another, and no value has two names",
        arguments: Part.allCases
    )
    func distinct(part: Part) throws {
        let strings = try part.strings()
        #expect(Set(strings.map(\.name)).count == strings.count)
        for string in strings where string.name.contains("label") {
            let lines = string.now.split(separator: "\n")
            #expect(Set(lines).count == lines.count, "\(string.name)")
        }
    }
}
