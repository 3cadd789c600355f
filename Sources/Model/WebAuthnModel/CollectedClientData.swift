/// The data that the client bound into a ceremony (WebAuthn Level 3, section 5.8.1).
///
/// Unknown members are allowed: clients add random ones, so that servers do not rely on their absence. `tokenBinding`
/// is one of them: Level 3 reserves it and requires no check of it.
public struct CollectedClientData: Sendable, Equatable {
    /// `webauthn.create` or `webauthn.get`.
    public let type: String
    /// The challenge's bytes.
    public let challenge: [UInt8]
    /// The origin, as the client wrote it.
    public let origin: String
    /// Whether the call came from a frame of another origin than the page's; false if absent.
    public let crossOrigin: Bool
    /// The page's origin if the call came from such a frame.
    public let topOrigin: String?

    /// Describes the data of a ceremony.
    public init(
        type: String,
        challenge: [UInt8],
        origin: String,
        crossOrigin: Bool = false,
        topOrigin: String? = nil
    ) {
        self.type = type
        self.challenge = challenge
        self.origin = origin
        self.crossOrigin = crossOrigin
        self.topOrigin = topOrigin
    }

    /// Parses `clientDataJSON`.
    ///
    /// - Throws: ``ClientDataError``.
    public init(parsing json: [UInt8]) throws(ClientDataError) {
        let value: JSONValue
        do throws(JSONError) {
            // "UTF-8 decode" in section 7.1, step 5 removes a byte order mark.
            value = try JSONValue(
                parsing: json.starts(with: [0xEF, 0xBB, 0xBF]) ? Array(json.dropFirst(3)) : json
            )
        } catch {
            throw .malformed(error)
        }
        guard let members = value.object else { throw .notAnObject }
        guard let type = members["type"]?.string else { throw .member("type") }
        guard let challenge = members["challenge"]?.bytes else { throw .member("challenge") }
        guard let origin = members["origin"]?.string else { throw .member("origin") }
        self.type = type
        self.challenge = challenge
        self.origin = origin
        switch members["crossOrigin"] {
        case nil: crossOrigin = false
        case .bool(let value): crossOrigin = value
        default: throw .member("crossOrigin")
        }
        switch members["topOrigin"] {
        case nil: topOrigin = nil
        case .string(let value): topOrigin = value
        default: throw .member("topOrigin")
        }
    }

    /// The serialization of section 5.8.1.1, which the limited verification algorithm of section 5.8.1.2 accepts too.
    public var json: [UInt8] { json(adding: []) }

    /// The serialization with additional members at the end, as section 5.8.1.1 requires.
    package func json(adding members: [(name: String, value: JSONValue)]) -> [UInt8] {
        var text = #"{"type":\#(JSONText.quoted(type))"#
        text += #","challenge":\#(JSONText.quoted(Base64URL.encode(challenge)))"#
        text += #","origin":\#(JSONText.quoted(origin)),"crossOrigin":\#(crossOrigin)"#
        if let topOrigin { text += #","topOrigin":\#(JSONText.quoted(topOrigin))"# }
        for (name, value) in members {
            text += ",\(JSONText.quoted(name)):\(String(decoding: value.json, as: UTF8.self))"
        }
        return Array((text + "}").utf8)
    }
}

/// Why `clientDataJSON` is refused.
public enum ClientDataError: Error, Sendable, Equatable {
    /// It is not JSON.
    case malformed(JSONError)
    /// It is JSON, but not an object.
    case notAnObject
    /// A member of this name is missing or of another type.
    case member(String)
}
