internal import AccountStore
internal import WebAuthn
internal import WebAuthnModel

/// A device's statement about a use of its key: the member `touchstone` of the client data, which the key signed.
///
/// `TouchstoneLogin` adds it to registrations and assertions. The signature proves who made the statement, not that it is true: where a
/// key is stored is proved by the attestation at its registration. So it is kept, for the audit record and with the credential, and it
/// can only lower what an authentication is worth (``ProvenAssurance``), except for facts about a use of a key that a chip attested.
struct DeviceStatement: Equatable {
    private static let name = "touchstone"
    /// More than the number of facts in the API.
    private static let mostFacts = 16
    /// The parts whose change is an event: the enrolled fingers, the reader and the chip.
    private static let watched = ["enrolment", "reader", "tpm"]

    /// The statement's level, in the words of the client.
    let level: String
    /// The facts that it states.
    let facts: Set<String>
    /// The statement, with the members that this server knows.
    private let content: JSONObject

    /// The member alone, as canonical JSON, at most 4 KiB; `counter` is the signature's number in the authenticator data, 0 for none.
    func details(counter: UInt32) -> String {
        let counter: JSONValue? = counter == 0 ? nil : .integer(Int64(counter))
        return Self.text(JSONValue(members: [Self.name: .object(content), "counter": counter]))
    }

    /// The statement as canonical JSON, to be kept with the credential.
    var kept: String { Self.text(.object(content)) }

    /// Extracts the statement from the client data; nil if there is none, or if it is not in the form that
    /// `TouchstoneLogin` writes.
    ///
    /// - Parameter clientDataJSON: The client data of a ceremony whose signature is verified.
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
        guard method == nil || Self.word(method) != nil,
            let enrolment = Self.part(stated["enrolment"], Self.digest),
            let reader = Self.part(stated["reader"], { Self.texts($0, ["name", "grade"]) }),
            let tpm = Self.part(stated["tpm"], { Self.texts($0, ["manufacturer", "model", "firmware"]) })
        else { return nil }
        self.level = level.string ?? ""
        self.facts = Set(words.compactMap(\.string))
        let members: [(String, JSONValue?)] = [
            ("level", level), ("hardware", hardware), ("facts", .array(words)), ("method", method),
            ("enrolment", enrolment), ("reader", reader), ("tpm", tpm),
        ]
        content = JSONObject(members.compactMap { name, value in value.map { (name, $0) } })
    }

    /// How the watched parts differ from a kept statement; a part that one of both says nothing of has not changed.
    ///
    /// - Parameter former: ``kept`` of the credential's last use; nil: there is none.
    /// - Returns: nil if nothing changed.
    func change(since former: String?) -> DeviceChange? {
        guard let former, let old = try? JSONValue(parsing: Array(former.utf8)).object else { return nil }
        let changed = Self.watched.filter { name in
            guard let before = old[name], let now = content[name] else { return false }
            return Self.text(before) != Self.text(now)
        }
        guard !changed.isEmpty else { return nil }
        func values(_ object: JSONObject) -> JSONValue {
            .object(JSONObject(changed.map { ($0, object[$0] ?? .null) }))
        }
        return DeviceChange(
            reason: changed.joined(separator: ","),
            details: Self.text(["former": values(old), "present": values(content)])
        )
    }

    private static func text(_ value: JSONValue) -> String {
        String(decoding: (try? CanonicalJSON.encode(value)) ?? [], as: UTF8.self)
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

    /// A part that may be absent, or null for "there is none"; nil if it is not in its form.
    private static func part(_ value: JSONValue?, _ form: (JSONValue) -> JSONValue?) -> JSONValue?? {
        guard let value, value != .null else { return .some(value) }
        return form(value).map { .some($0) }
    }

    /// 32 bytes in base64url.
    private static func digest(_ value: JSONValue) -> JSONValue? { value.bytes?.count == 32 ? value : nil }

    /// An object with these members alone: texts of at most 256 bytes that can be shown, names of drivers and chips.
    private static func texts(_ value: JSONValue, _ names: [String]) -> JSONValue? {
        guard let object = value.object else { return nil }
        let texts = names.compactMap { name -> (name: String, value: JSONValue)? in
            guard let text = object[name]?.string, text.utf8.count <= 256,
                text.unicodeScalars.allSatisfy(\.properties.isShown)
            else { return nil }
            return (name, .string(text))
        }
        return texts.count == names.count ? .object(JSONObject(texts)) : nil
    }
}

extension Unicode.Scalar.Properties {
    /// Whether a line of a log or a page can show it.
    var isShown: Bool {
        switch generalCategory {
        case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator:
            false
        default: true
        }
    }
}
