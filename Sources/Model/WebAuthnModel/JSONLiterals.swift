// Values as Swift literals: `["id": .string(id), "count": 3]`.

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// An integer.
    public init(integerLiteral value: Int64) { self = .integer(value) }
    /// A truth value.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// An array.
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    /// An object; the names have to be different.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .object(JSONObject(elements.map { (name: $0.0, value: $0.1) }))
    }
}

extension JSONValue {
    /// An object of the members that have a value.
    public init(members: KeyValuePairs<String, JSONValue?>) {
        self = .object(JSONObject(members.compactMap { member in member.value.map { (member.key, $0) } }))
    }

    /// Bytes as base64url without padding.
    public init(base64URL bytes: [UInt8]) { self = .string(Base64URL.encode(bytes)) }
}
