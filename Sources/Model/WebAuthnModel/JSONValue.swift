/// A JSON value (RFC 8259) in the form of I-JSON (RFC 7493): UTF-8, names without duplicates.
public enum JSONValue: Sendable, Equatable {
    /// `null`.
    case null
    /// `true` or `false`.
    case bool(Bool)
    /// A number without fraction and exponent that fits 64 bits.
    case integer(Int64)
    /// Any other number.
    case number(Double)
    /// A string.
    case string(String)
    /// An array.
    case array([JSONValue])
    /// An object.
    case object(JSONObject)

    /// Parses a document.
    ///
    /// - Parameters:
    ///   - bytes: the document, UTF-8 without a byte order mark.
    ///   - depth: how many arrays and objects may be nested.
    /// - Throws: ``JSONError`` if it is malformed, too deep, or has a duplicate name.
    public init(parsing bytes: [UInt8], depth: Int = 8) throws(JSONError) {
        var reader = JSONReader(bytes, depth: depth)
        self = try reader.readDocument()
    }

    /// The string, if it is one.
    public var string: String? {
        guard case .string(let value) = self else { return nil }
        return value
    }

    /// The truth value, if it is one.
    public var bool: Bool? {
        guard case .bool(let value) = self else { return nil }
        return value
    }

    /// The integer, if it is one.
    public var integer: Int64? {
        guard case .integer(let value) = self else { return nil }
        return value
    }

    /// The elements, if it is an array.
    public var array: [JSONValue]? {
        guard case .array(let value) = self else { return nil }
        return value
    }

    /// The members, if it is an object.
    public var object: JSONObject? {
        guard case .object(let value) = self else { return nil }
        return value
    }

    /// The bytes, if it is a string in base64url.
    public var bytes: [UInt8]? { string.flatMap(Base64URL.decode) }
}

/// The members of a JSON object, in their order in the document.
public struct JSONObject: Sendable, Equatable {
    /// The members; no name occurs twice.
    public let members: [(name: String, value: JSONValue)]

    /// The value of a member; nil if there is none with that name.
    public subscript(name: String) -> JSONValue? {
        members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    /// Takes members, whose names have to be different.
    public init(_ members: [(name: String, value: JSONValue)]) {
        self.members = members
    }

    /// Whether both have the same members in the same order.
    public static func == (one: JSONObject, other: JSONObject) -> Bool {
        one.members.count == other.members.count
            && zip(one.members, other.members).allSatisfy { $0.name == $1.name && $0.value == $1.value }
    }
}

/// Why a document is refused.
public struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The fault.
    public enum Code: String, Sendable {
        /// It ends within a value.
        case unexpectedEnd
        /// A character that is not allowed there.
        case unexpectedCharacter
        /// Bytes that are not UTF-8, or half of a surrogate pair.
        case invalidText
        /// A number out of range.
        case invalidNumber
        /// Arrays and objects are nested deeper than the limit.
        case tooDeep
        /// An object has a duplicate name.
        case duplicateName
        /// Bytes follow the document.
        case trailingBytes
    }

    /// The fault.
    public let code: Code
    /// The byte offset of the fault.
    public let offset: Int

    /// In words, for a log.
    public var description: String { "JSON: \(code.rawValue) at byte \(offset)" }

    init(_ code: Code, at offset: Int) {
        self.code = code
        self.offset = offset
    }
}
