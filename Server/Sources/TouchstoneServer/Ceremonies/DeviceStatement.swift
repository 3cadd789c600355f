internal import WebAuthn
internal import WebAuthnModel

/// A device's statement about the use of its key: the member `touchstone` of the client data, which the key signed.
///
/// `TouchstoneLogin` adds it to its assertions. The signature proves who made the statement, not that it is true: where
/// a key is stored is proved by the attestation at its registration. So it is kept for the audit record, and decides
/// nothing.
struct DeviceStatement: Equatable {
    private static let name = "touchstone"
    /// More than the number of facts in the API.
    private static let mostFacts = 16

    /// The member alone, as canonical JSON; at most 1 KiB.
    let json: String

    /// Extracts the statement from the client data; nil if there is none, or if it is not in the form that
    /// `TouchstoneLogin` writes.
    ///
    /// - Parameter clientDataJSON: The client data of an assertion whose signature is verified.
    init?(in clientDataJSON: [UInt8]) {
        // Other clients do not send the member, and their data is not parsed again.
        guard Self.mayBe(in: clientDataJSON),
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

    /// Whether the member's name occurs in the client data.
    ///
    /// `firstRange(of:)` is 13 µs of a login's 254, this less than one.
    private static func mayBe(in clientDataJSON: [UInt8]) -> Bool {
        let name = Array(name.utf8)
        guard clientDataJSON.count >= name.count else { return false }
        return (0...clientDataJSON.count - name.count).contains { start in
            name.indices.allSatisfy { clientDataJSON[start + $0] == name[$0] }
        }
    }

    /// A string of 1 to 32 letters.
    private static func word(_ value: JSONValue?) -> JSONValue? {
        guard let text = value?.string?.utf8, 1...32 ~= text.count,
            text.allSatisfy({ UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 })
        else { return nil }
        return value
    }
}
