import Foundation
package import KeychainModel

/// The attributes collected from a dictionary.
package struct ParsedAttributes: Sendable {
    /// The maximum total size of the attributes in bytes, so that a request with the longest data fits into a
    /// frame.
    package static let mostOctets = 1 << 16

    /// All attributes except accessibility and access control.
    package var values: ItemAttributes = [:]
    /// `kSecAttrAccessible`.
    package var accessibility: Accessibility?
    /// `kSecAttrAccessControl`.
    package var accessControl: AccessControl?
    private var octetCount = 0

    /// `kSecAttrAccessGroup`.
    var accessGroup: AccessGroup? {
        guard case .string(let name)? = values[.accessGroup] else { return nil }
        return AccessGroup(name)
    }

    /// Whether there are no attributes.
    package var isEmpty: Bool { values.isEmpty && accessibility == nil && accessControl == nil }

    /// Adds an attribute.
    ///
    /// - Throws: `errSecNoSuchAttr` for an attribute that the class does not have, `errSecParam` for a key that
    ///   cannot be an attribute and for a value of the wrong type, `errSecDataTooLarge` for a value that is too
    ///   long.
    mutating func accept(_ name: String, _ value: Any, of itemClass: ItemClass) throws(KeychainError) {
        guard let kind = AttributeTable.kind(of: name, in: itemClass) else {
            throw AttributeTable.isNamedAsOne(name)
                ? KeychainError(.noSuchAttr, cause: DriverCause(domain: "query", code: name))
                : .param("unknown key")
        }
        switch kind {
        case .accessControl:
            guard let object = value as? SecAccessControl else { throw .wrongType(name) }
            accessControl = object.accessControl
        case .accessible:
            guard let text = text(value) else { throw .wrongType(name) }
            guard let accessibility = Accessibility(rawValue: text) else {
                throw .param("unknown protection")
            }
            self.accessibility = accessibility
        default:
            let converted = try Self.convert(value, kind, name)
            octetCount += converted.octetCount
            guard converted.octetCount <= ItemLimits.longestAttribute, octetCount <= Self.mostOctets else {
                throw KeychainError(.dataTooLarge, cause: DriverCause(domain: "query", code: name))
            }
            values[AttributeKey(rawValue: name)] = converted
        }
    }

    /// Validates combinations of attributes.
    ///
    /// - Throws: `errSecParam` for an access control together with a different `kSecAttrAccessible`.
    func judge() throws(KeychainError) {
        if let accessControl, let accessibility, accessControl.accessibility != accessibility {
            throw .param("access control beside another protection")
        }
    }

    /// Validates attributes to store.
    ///
    /// - Throws: `errSecParam` for constraints on a synchronizable item, and for
    ///   ``kSecAttrSynchronizableAny``.
    func judgeForStorage() throws(KeychainError) {
        let synchronizable = values[.synchronizable]
        if synchronizable == .anySynchronizable { throw .param("any synchronizable is for searches") }
        if synchronizable == .boolean(true), let accessControl, !accessControl.constraints.isEmpty {
            throw .param("a synchronizable item with constraints")
        }
    }

    private static func convert(
        _ value: Any,
        _ kind: AttributeKind,
        _ name: String
    ) throws(KeychainError) -> AttributeValue {
        switch kind {
        case .text:
            if let text = text(value) { return .string(text) }
            if let octets = value as? Data {
                guard octets.count <= ItemLimits.longestAttribute else { throw KeychainError(.dataTooLarge) }
                return .data([UInt8](octets))
            }
            if let number = value as? Int64 { return .integer(number) }
        case .octets:
            if let text = text(value) { return .data(Array(text.utf8)) }
            if let octets = value as? Data {
                guard octets.count <= ItemLimits.longestAttribute else { throw KeychainError(.dataTooLarge) }
                return .data([UInt8](octets))
            }
        case .code:
            let number = (value as? Int64) ?? (value as? Bool).map { $0 ? 1 : 0 }
            guard let code = text(value) ?? number.map(String.init) else { break }
            // A key's type of zero is stored as a missing one is; its class of zero means a public key (``KeyItem``).
            return code == "0" && name == AttributeKey.type.rawValue ? .integer(0) : .string(code)
        case .number:
            if let number = value as? Int64 { return .integer(number) }
            if let flag = value as? Bool { return .integer(flag ? 1 : 0) }
            // Accept only the canonical text of the number.
            if let text = text(value) {
                return Int32(text).map(String.init) == text ? .integer(Int64(text) ?? 0) : .string(text)
            }
        case .flag:
            if let flag = value as? Bool { return .boolean(flag) }
        case .date:
            if let date = value as? Date, let microseconds = date.microsecondsSince1970 {
                return .date(microseconds)
            }
        case .accessGroup:
            if let text = text(value) {
                guard let group = AccessGroup(text) else { throw .param("access group") }
                return .string(group.name)
            }
        case .synchronizable:
            if let text = text(value), text == "syna" { return .anySynchronizable }
            if let flag = value as? Bool { return .boolean(flag) }
        case .accessible, .accessControl: break
        }
        throw .wrongType(name)
    }
}

extension KeychainError {
    /// `errSecParam` for a value of the wrong type; includes the key, never the value.
    static func wrongType(_ key: String) -> KeychainError { .param("wrong type for \(key)") }
}

extension AttributeValue {
    /// ``kSecAttrSynchronizableAny``, as the daemon expects it in a search.
    static let anySynchronizable = AttributeValue.string("syna")

    /// The approximate size of the value in a message, in bytes.
    fileprivate var octetCount: Int {
        switch self {
        case .string(let text): text.utf8.count
        case .data(let octets): octets.count
        case .integer, .boolean, .date: 8
        }
    }
}

extension Date {
    /// Microseconds since 1970; nil if not representable, as for infinity.
    fileprivate var microsecondsSince1970: Int64? {
        Int64(exactly: (timeIntervalSince1970 * 1_000_000).rounded())
    }
}

extension NSDate {
    /// Makes the date of an attribute's value.
    convenience init(microsecondsSince1970 microseconds: Int64) {
        self.init(timeIntervalSince1970: Double(microseconds) / 1_000_000)
    }
}
