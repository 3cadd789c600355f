internal import WebAuthn
internal import WebAuthnModel

/// What a device says the use of its key was worth: the member `touchstone` of the client data, which the key signed.
///
/// `TouchstoneLogin` adds it to its assertions. A signature shows who says it, not that it is so: of where a key is, the
/// attestation of its registration is the evidence. So it is kept for the audit record, and decides nothing.
struct DeviceStatement: Equatable {
    private static let name = "touchstone"
    /// More than the API has facts.
    private static let mostFacts = 16

    /// The member by itself, as canonical JSON; at most 1 KiB.
    let json: String

    /// Takes it out of what the client collected; nil where there is none, and for one that is not of the form that
    /// `TouchstoneLogin` writes.
    ///
    /// - Parameter clientDataJSON: Of an assertion whose signature is verified.
    init?(in clientDataJSON: [UInt8]) {
        // Other clients have no such member, and are not parsed once more.
        guard clientDataJSON.firstRange(of: Array(Self.name.utf8)) != nil,
            let stated = try? JSONValue(parsing: clientDataJSON).object?[Self.name]?.object,
            let level = Self.word(stated["level"]), let hardware = Self.word(stated["hardware"]),
            let facts = stated["facts"]?.array, facts.count <= Self.mostFacts
        else { return nil }
        let words = facts.compactMap { Self.word($0) }
        guard words.count == facts.count else { return nil }
        let method = stated["method"]
        guard method == nil || Self.word(method) != nil else { return nil }
        let member = JSONValue(members: [
            "level": level, "hardware": hardware, "facts": .array(words), "method": method,
        ])
        guard let text = try? CanonicalJSON.encode([Self.name: member]) else { return nil }
        json = String(decoding: text, as: UTF8.self)
    }

    /// A name of 1 to 32 letters.
    private static func word(_ value: JSONValue?) -> JSONValue? {
        guard let text = value?.string?.utf8, 1...32 ~= text.count,
            text.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 })
        else { return nil }
        return value
    }
}
