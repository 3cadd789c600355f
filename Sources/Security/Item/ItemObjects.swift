import Foundation
import KeychainModel
import SecretMemory

/// Makes the objects that `SecItemCopyMatching` returns (`keychain.md`, rule 7).
struct ItemObjects {
    /// What was asked for.
    let returns: ItemQuery.Returns
    /// The class asked for; nil when items were named by reference.
    let itemClass: ItemClass?

    /// One return key gives its value; several give a dictionary.
    func object(
        reference: PersistentReference?,
        attributes: ItemAttributes?,
        data: borrowing SecretBytes?
    ) -> NSObject {
        switch returns {
        case .data: return NSData(optional: data)
        case .persistentRef: return NSData(data: Data(reference?.octets ?? []))
        default: break
        }
        var parts: [String: Any] = [:]
        if returns.contains(.attributes), let attributes { parts = Self.dictionary(attributes, itemClass) }
        if returns.contains(.data) { parts["v_Data"] = NSData(optional: data) }
        if returns.contains(.persistentRef), let reference {
            parts["v_PersistentRef"] = NSData(data: Data(reference.octets))
        }
        return parts as NSDictionary
    }

    private static func dictionary(_ attributes: ItemAttributes, _ itemClass: ItemClass?) -> [String: Any] {
        var objects = [String: Any](minimumCapacity: attributes.count + 4)
        for (key, value) in attributes { objects[key.rawValue] = object(value) }
        if let itemClass { objects["class"] = itemClass.rawValue }
        // The access control comes as octets, and only where it says more than when to read the item.
        if case .data(let octets)? = attributes[.accessControl],
            let rules = try? AccessControl(decoding: octets)
        {
            objects["accc"] = SecAccessControl(rules)
        } else if case .string(let name)? = attributes[.accessible], let when = Accessibility(rawValue: name)
        {
            objects["accc"] = SecAccessControl(AccessControl(accessibility: when))
        }
        return objects
    }

    private static func object(_ value: AttributeValue) -> Any {
        switch value {
        case .string(let text): text
        case .data(let octets): Data(octets)
        case .integer(let number): NSNumber(value: number)
        case .boolean(let flag): NSNumber(value: flag)
        case .date(let microseconds): Date(microsecondsSince1970: microseconds)
        }
    }
}

extension NSData {
    /// An item's data, in memory of its own that is wiped when the app lets go of it.
    fileprivate convenience init(optional secret: borrowing SecretBytes?) {
        switch secret {
        case .some(let secret) where secret.count > 0:
            let copy = UnsafeMutableRawPointer.allocate(byteCount: secret.count, alignment: 16)
            let room = UnsafeMutableRawBufferPointer(start: copy, count: secret.count)
            secret.withOctets { octets in octets.withUnsafeBytes { room.copyMemory(from: $0) } }
            self.init(bytesNoCopy: copy, length: secret.count) { address, length in
                explicit_bzero(address, length)
                address.deallocate()
            }
        default: self.init()
        }
    }
}
