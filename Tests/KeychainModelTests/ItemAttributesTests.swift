import KeychainModel
import Testing

@Suite("Item attributes")
struct ItemAttributesTests {
    @Test("attributes are sorted by name, shorter names first")
    func order() {
        var attributes: ItemAttributes = [.service: .string("mail"), .account: .string("ada")]
        attributes[AttributeKey(rawValue: "class")] = .string("genp")
        attributes[.accessGroup] = .string("app")
        attributes[AttributeKey(rawValue: "v")] = .integer(1)
        #expect(attributes.map(\.key.rawValue) == ["v", "acct", "agrp", "svce", "class"])
        let others: ItemAttributes = [
            AttributeKey(rawValue: "class"): .string("genp"), AttributeKey(rawValue: "v"): .integer(1),
            .accessGroup: .string("app"), .account: .string("ada"), .service: .string("mail"),
        ]
        #expect(attributes == others)
    }

    @Test("an attribute has one value, which can be replaced and removed")
    func values() {
        var attributes: ItemAttributes = [.account: .string("ada"), .account: .string("bob")]
        #expect(attributes.count == 1)
        #expect(attributes[.account] == .string("bob"))
        attributes[.account] = .string("cyd")
        attributes[.label] = .string("l")
        attributes[.service] = nil
        #expect(attributes == [.label: .string("l"), .account: .string("cyd")])
        attributes[.account] = nil
        #expect(attributes[.account] == nil)
        #expect(attributes == [.label: .string("l")])
        attributes[.label] = nil
        #expect(attributes.isEmpty)
    }

    @Test("attributes are merged by name, and filtered")
    func merging() {
        let first: ItemAttributes = [.account: .string("ada"), .label: .string("old")]
        let second: ItemAttributes = [.label: .string("new"), .port: .integer(1)]
        #expect(
            first.merging(second) { $1 } == [
                .account: .string("ada"), .label: .string("new"), .port: .integer(1),
            ]
        )
        #expect(first.merging(second) { former, _ in former }[.label] == .string("old"))
        #expect(first.filter { $0.key == .label } == [.label: .string("old")])
    }
}
