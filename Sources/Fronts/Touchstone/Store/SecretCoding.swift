internal import Foundation

/// Values as the bytes that are stored: `Data` and `String` as they are, all others as JSON.
///
/// An optional is stored and read as what it wraps, because that is what a call in a function that returns an optional asks for.
enum SecretCoding {
    /// - Throws: ``TouchstoneError`` with `typeMismatch` for what cannot be encoded, `limitExceeded` for too many bytes.
    static func encode<Value: Encodable>(_ value: Value) throws(TouchstoneError) -> Data {
        let bytes: Data
        if let value = value as? any OptionalValue, value.isNil { throw mismatch(Value.self) }
        switch value {
        case let data as Data: bytes = data
        case let text as String: bytes = Data(text.utf8)
        default:
            do {
                bytes = try JSONEncoder().encode(value)
            } catch {
                throw mismatch(Value.self)
            }
        }
        guard bytes.count <= SecretStore.longestSecret else {
            throw .limit("secret: at most \(SecretStore.longestSecret) bytes")
        }
        return bytes
    }

    /// - Throws: ``TouchstoneError`` with `typeMismatch`.
    static func decode<Value: Decodable>(_ type: Value.Type, _ bytes: Data) throws(TouchstoneError) -> Value {
        if let data = bytes as? Value { return data }
        if type == String.self || type == String?.self {
            guard let text = String(validating: bytes, as: UTF8.self) as? Value else { throw mismatch(type) }
            return text
        }
        do {
            return try JSONDecoder().decode(type, from: bytes)
        } catch {
            throw mismatch(type)
        }
    }

    /// The decoder's own words could quote the secret.
    private static func mismatch(_ type: Any.Type) -> TouchstoneError {
        TouchstoneError(.typeMismatch, details: ["\(type)"])
    }
}

/// Any optional, whatever it wraps.
private protocol OptionalValue {
    var isNil: Bool { get }
}

extension Optional: OptionalValue {
    fileprivate var isNil: Bool {
        if case .none = self { true } else { false }
    }
}
