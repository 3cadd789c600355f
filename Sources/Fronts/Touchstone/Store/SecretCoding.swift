internal import Foundation

/// Encodes values as stored bytes: `Data` and `String` as they are, all others as JSON.
///
/// An optional is encoded and decoded as its wrapped value, because type inference picks the optional type in a function that
/// returns one.
enum SecretCoding {
    /// - Throws: ``TouchstoneError`` with `typeMismatch` for a value that cannot be encoded, `limitExceeded` for too
    ///   many bytes.
    static func encode<Value: Encodable>(
        _ value: Value,
        by encoder: JSONEncoder = DateText.encoder
    ) throws(TouchstoneError) -> Data {
        let bytes: Data
        if let value = value as? any OptionalValue, value.isNil {
            throw TouchstoneError(
                .typeMismatch,
                details: ["\(Value.self)", "nil is no value; delete(_:) removes one"]
            )
        }
        switch value {
        case let data as Data: bytes = data
        case let text as String: bytes = Data(text.utf8)
        default:
            do {
                bytes = try encoder.encode(value)
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
            return try DateText.decoder.decode(type, from: bytes)
        } catch {
            throw mismatch(type)
        }
    }

    /// Omits the decoder's own message, which could quote the secret.
    private static func mismatch(_ type: Any.Type) -> TouchstoneError {
        TouchstoneError(.typeMismatch, details: ["\(type)"])
    }
}

/// Any optional, independent of its wrapped type.
private protocol OptionalValue {
    var isNil: Bool { get }
}

extension Optional: OptionalValue {
    fileprivate var isNil: Bool {
        if case .none = self { true } else { false }
    }
}
