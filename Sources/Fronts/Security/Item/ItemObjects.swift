import Foundation
import KeychainClient
import KeychainModel
import SecretMemory

/// Makes the objects that `SecItemCopyMatching` returns (`ConformanceTests/ResultShapeTests.swift`).
struct ItemObjects {
    /// The parts of an item to return.
    let returns: ItemQuery.Returns
    /// The class in the query; nil if the query names items by reference.
    private let itemClass: ItemClass?
    /// The class's name, as the value of `kSecClass` in results.
    private let className: NSString?
    /// Whether the class of passwords is known, so that no item is a key.
    private let isOfPasswords: Bool
    /// The prompt settings for uses of returned keys.
    private let wishes: PromptWishes
    private let former = AttributeObjectCache()

    init(_ query: ParsedQuery) {
        returns = query.returns
        itemClass = query.itemClass
        className = itemClass.map { NSString(string: $0.rawValue) }
        isOfPasswords = itemClass == .genericPassword || itemClass == .internetPassword
        wishes = query.wishes
    }

    /// The object for an item: the value of a single return key, or a dictionary for several; nil for a missing
    /// part.
    ///
    /// - Throws: the error that prevents the use of a key (``SecKey/init(_:_:_:_:)``).
    func object(_ item: borrowing ItemResult) throws(KeychainError) -> NSObject? {
        // Decode all attributes only if the item can be a key.
        let attributes = isOfPasswords ? nil : item.attributes
        // The data of a hardware key is not returned to apps.
        let hasData = attributes.map { !$0.isToken } ?? true
        switch returns {
        case .data: return hasData ? NSData(dataOf: item) : nil
        case .persistentRef: return NSData(data: Data(item.reference?.octets ?? []))
        case .ref: return try key(item, attributes)
        default: break
        }
        var parts = DictionaryParts()
        if returns.contains(.data), hasData, item.hasData {
            parts.add(DictionaryKeys.data, NSData(dataOf: item))
        }
        if returns.contains(.persistentRef), let reference = item.reference {
            parts.add(DictionaryKeys.persistentReference, NSData(data: Data(reference.octets)))
        }
        if returns.contains(.ref), let key = try key(item, attributes) {
            parts.add(DictionaryKeys.reference, key)
        }
        if returns.contains(.attributes) { addAttributes(of: item, to: &parts) }
        return parts.dictionary
    }

    /// Adds the attributes, and the access control as an object: for a hardware key the key's own, because that of
    /// the item requires less.
    private func addAttributes(of item: borrowing ItemResult, to parts: inout DictionaryParts) {
        var ofItem: AttributeValue?
        var ofKey: AttributeValue?
        var accessible: AttributeValue?
        var place = 0
        let blanks = BlankAttribute.all(of: itemClass ?? Self.itemClass(of: item))
        var given: UInt16 = 0
        item.forEachAttribute { key, value in
            if let index = blanks.firstIndex(where: { $0.key == key }) { given |= 1 << index }
            switch key {
            case .accessControl: return ofItem = value
            case .keyAccessControl: return ofKey = value
            case .accessible: accessible = value
            case .itemClass where itemClass != nil: return
            default: break
            }
            let objects = former.objects(key, Self.returned(key, value), at: place)
            parts.add(objects.key, objects.value)
            place += 1
        }
        for (index, blank) in blanks.enumerated() where given & 1 << index == 0 {
            parts.add(blank.keyObject, blank.object)
        }
        if let className { parts.add(DictionaryKeys.itemClass, className) }
        if let accessControl = Self.accessControl(ofKey ?? ofItem, accessible) {
            parts.add(DictionaryKeys.accessControl, accessControl)
        }
    }

    /// The value with its type in Apple's schema: a key's class and type are numbers, although they are stored as the text of the
    /// constants, and an empty tag is text.
    private static func returned(_ key: AttributeKey, _ value: AttributeValue) -> AttributeValue {
        if key == .applicationTag, value == .data([]) { return .string("") }
        guard key == .keyClass || key == .type, case .string(let text) = value, let number = Int64(text),
            String(number) == text
        else { return value }
        return .integer(number)
    }

    /// The class of an item that was named by reference.
    private static func itemClass(of item: borrowing ItemResult) -> ItemClass? {
        guard case .string(let name)? = item.attributes?[.itemClass] else { return nil }
        return ItemClass(rawValue: name)
    }

    /// Like ``object(_:)``, but returns nil for an item without a usable key, so that it does not fail the
    /// whole list.
    func objectInList(_ item: borrowing ItemResult) throws(KeychainError) -> NSObject? {
        do throws(KeychainError) {
            return try object(item)
        } catch {
            if error.status == .decode || error.status == .itemNotFound { return nil }
            throw error
        }
    }

    /// Accepts that ``object(_:)`` returned nil for the reference of a password, for which Apple's systems succeed without a
    /// result.
    ///
    /// - Throws: `errSecItemNotFound` for anything else: the data of a hardware key, and a list of items without keys.
    func checkMissing(_ item: borrowing ItemResult) throws(KeychainError) {
        let isPassword = isOfPasswords || (itemClass ?? Self.itemClass(of: item)) != .key
        guard returns == .ref, isPassword else { throw KeychainError(.itemNotFound) }
    }

    /// The reference of a key; nil for a password, which has none.
    private func key(
        _ item: borrowing ItemResult,
        _ attributes: ItemAttributes?
    ) throws(KeychainError) -> SecKey? {
        guard let attributes, (itemClass ?? Self.itemClass(of: item)) == .key else { return nil }
        switch try item.copyData() {
        case .some(let data): return try SecKey(attributes, data, item.reference, wishes)
        case .none: throw .key(.decode, "the item holds no key")
        }
    }

    /// The daemon returns an encoded access control only if it contains more than the accessibility.
    private static func accessControl(
        _ encoded: AttributeValue?,
        _ accessible: AttributeValue?
    ) -> SecAccessControl? {
        if case .data(let octets)? = encoded {
            return (try? AccessControl(decoding: octets)).map(SecAccessControl.init)
        }
        guard case .string(let name)? = accessible else { return nil }
        return plainControls[name]
    }

    /// Access controls with nothing but an accessibility, by its name: they are immutable, and most items have
    /// one.
    private static let plainControls = Dictionary(
        uniqueKeysWithValues: Accessibility.allCases.map {
            ($0.rawValue, SecAccessControl(AccessControl(accessibility: $0)))
        }
    )

    /// The keys and values of one dictionary, without duplicate keys.
    ///
    /// Collected as Foundation objects, because converting a Swift dictionary takes longer than a look-up.
    private struct DictionaryParts {
        private var keys: [NSObject] = []
        private var values: [AnyObject] = []

        init() {
            keys.reserveCapacity(16)
            values.reserveCapacity(16)
        }

        /// Made from pointers, because the initialiser for arrays inspects each value.
        var dictionary: NSDictionary {
            keys.withUnsafeBufferPointer { keys in
                values.withUnsafeBufferPointer { values in
                    NSDictionary(objects: values.baseAddress, forKeys: keys.baseAddress, count: keys.count)
                }
            }
        }

        mutating func add(_ key: NSString, _ value: NSObject) {
            keys.append(key)
            values.append(value)
        }
    }
}

extension AttributeValue {
    /// The value as an object for apps.
    var object: NSObject {
        switch self {
        case .string(let text): NSString(string: text)
        case .data(let octets): NSData(data: Data(octets))
        case .integer(let number): NSNumber(value: number)
        case .boolean(let flag): NSNumber(value: flag)
        case .date(let microseconds): NSDate(microsecondsSince1970: microseconds)
        }
    }
}

extension NSData {
    /// An item's data; empty without data.
    fileprivate convenience init(dataOf item: borrowing ItemResult) {
        let copy = item.withData { WipedCopy($0) }
        if let copy { self.init(copy) } else { self.init() }
    }

    /// Copies a secret into memory of its own, which is wiped when the app releases the object.
    convenience init(wiping secret: borrowing SecretBytes) {
        self.init(secret.withOctets { WipedCopy($0) })
    }

    private convenience init(_ copy: WipedCopy) {
        guard let start = copy.room.baseAddress else {
            self.init()
            return
        }
        self.init(bytesNoCopy: start, length: copy.room.count) { address, length in
            explicit_bzero(address, length)
            address.deallocate()
        }
    }
}

/// A secret's bytes in ordinary memory; the owner wipes and frees them.
private struct WipedCopy {
    /// Without a base address if empty.
    let room: UnsafeMutableRawBufferPointer

    init(_ octets: Span<UInt8>) {
        room = octets.withUnsafeBytes { octets in
            guard octets.count > 0 else { return UnsafeMutableRawBufferPointer(start: nil, count: 0) }
            let room = UnsafeMutableRawBufferPointer.allocate(byteCount: octets.count, alignment: 16)
            room.copyMemory(from: octets)
            return room
        }
    }
}
