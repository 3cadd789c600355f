import SecretMemory

/// A D-Bus value.
package indirect enum BusValue: Hashable, Sendable {
    /// `y`
    case byte(UInt8)
    /// `b`
    case boolean(Bool)
    /// `i`
    case int32(Int32)
    /// `u`
    case uint32(UInt32)
    /// `x`
    case int64(Int64)
    /// `t`
    case uint64(UInt64)
    /// `d`
    case double(Double)
    /// `s`
    case string(String)
    /// `o`
    case objectPath(String)
    /// `g`
    case signature(String)
    /// `ay`, in one piece.
    case octets(BusOctets)
    /// `a` of anything but bytes, with the signature of its elements, which an empty array cannot tell.
    case array(of: String, [BusValue])
    /// `(…)`
    case structure([BusValue])
    /// `{…}`, inside an array only.
    case entry(BusValue, BusValue)
    /// `v`
    case variant(BusValue)
    /// `h`
    case descriptor(BusDescriptor)

    /// The D-Bus signature.
    package var signature: String {
        switch self {
        case .byte: "y"
        case .boolean: "b"
        case .int32: "i"
        case .uint32: "u"
        case .int64: "x"
        case .uint64: "t"
        case .double: "d"
        case .string: "s"
        case .objectPath: "o"
        case .signature: "g"
        case .octets: "ay"
        case .array(let element, _): "a\(element)"
        case .structure(let members): "(\(members.map(\.signature).joined()))"
        case .entry(let key, let value): "{\(key.signature)\(value.signature)}"
        case .variant: "v"
        case .descriptor: "h"
        }
    }

    /// The text of a string or an object path.
    package var text: String? {
        switch self {
        case .string(let text), .objectPath(let text): text
        default: nil
        }
    }

    /// The value of a boolean.
    package var truth: Bool? {
        guard case .boolean(let truth) = self else { return nil }
        return truth
    }

    /// The texts of an array of strings or object paths; nil for anything else.
    package var texts: [String]? {
        guard case .array(of: "s", let elements) = self else {
            guard case .array(of: "o", let elements) = self else { return nil }
            return elements.compactMap(\.text)
        }
        return elements.compactMap(\.text)
    }

    /// The value of `key` in an `a{sv}`, unwrapped from its variant.
    package func property(_ key: String) -> BusValue? {
        guard case .array(_, let entries) = self else { return nil }
        for case .entry(.string(key), .variant(let value)) in entries { return value }
        return nil
    }

    /// The content of a variant.
    package var content: BusValue? {
        guard case .variant(let value) = self else { return nil }
        return value
    }

    /// The pairs of an `a{ss}`; nil for anything else.
    package var textPairs: [String: String]? {
        guard case .array(of: "{ss}", let entries) = self else { return nil }
        var pairs: [String: String] = [:]
        for case .entry(.string(let key), .string(let value)) in entries { pairs[key] = value }
        return pairs
    }

    /// The bytes of an `ay`; nil for anything else.
    package var octets: BusOctets? {
        guard case .octets(let octets) = self else { return nil }
        return octets
    }

    /// The paths of an `ao`; nil for anything else.
    package var paths: [String]? {
        guard case .array(of: "o", let elements) = self else { return nil }
        return elements.compactMap(\.text)
    }

    /// An array of object paths.
    package static func paths(_ paths: [String]) -> BusValue {
        .array(of: "o", paths.map(BusValue.objectPath))
    }

    /// An `a{ss}`, ordered by name.
    package static func textPairs(_ pairs: [String: String]) -> BusValue {
        let entries = pairs.sorted { $0.key < $1.key }.map { BusValue.entry(.string($0), .string($1)) }
        return .array(of: "{ss}", entries)
    }

    /// An `a{sv}`, ordered by name.
    package static func properties(_ values: [String: BusValue]) -> BusValue {
        let entries = values.sorted { $0.key < $1.key }.map { name, value in
            BusValue.entry(.string(name), .variant(value))
        }
        return .array(of: "{sv}", entries)
    }

    /// An array of strings.
    package static func strings(_ texts: [String]) -> BusValue { .array(of: "s", texts.map(BusValue.string)) }
}
