internal import Foundation

/// Values as the bytes that are stored: `Data` and `String` as they are, all others as JSON.
enum SecretCoding {
    /// - Throws: ``TouchstoneError`` with `typeMismatch` for what cannot be encoded, `limitExceeded` for too many bytes.
    static func encode<Value: Encodable>(_ value: Value) throws(TouchstoneError) -> Data {
        let bytes: Data
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
        if type == String.self {
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
