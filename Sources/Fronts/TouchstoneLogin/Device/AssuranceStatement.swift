internal import Touchstone
internal import WebAuthnModel

extension Assurance {
    /// The facts that are signed with a login, as a member of the client data.
    var statement: JSONValue {
        JSONValue(members: [
            "level": .string("\(level)"),
            "facts": .array(facts.map(\.rawValue).sorted().map { .string($0) }),
            "method": method.map { .string($0.rawValue) },
            "hardware": .string("\(hardware)"),
        ])
    }
}
