public import CoreFoundation
import Foundation
import KeychainClient
import KeychainModel
import SecretMemory

/// `SecItemAdd`: stores an item.
///
/// Blocks while the user is asked to unlock the keychain. `result` receives the values that the `kSecReturn…`
/// keys request.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    keychainStatus { () throws(KeychainError) in
        let item = try ParsedQuery(attributes, for: .add, hasResult: result != nil)
        let objects = ItemObjects(item)
        let copies = objects.returns.contains(.data) ? 2 : 1
        let room = try LockedRoom.shared.reserve(copies * (item.data?.count ?? 0))
        defer { withExtendedLifetime(room) {} }
        let added = try KeychainConnection.current.add(try item.addRequest())
        guard let result, !objects.returns.isEmpty else { return }
        try added.forEach { item throws(KeychainError) in result.pointee = try objects.object(item) }
    }
}

/// `SecItemCopyMatching`: finds items and returns the values that the `kSecReturn…` keys request.
///
/// Blocks while the user is asked to authenticate as an item's access control requires.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?)
    -> OSStatus
{
    keychainStatus { () throws(KeychainError) in
        let parsed = try ParsedQuery(query, for: .copyMatching, hasResult: result != nil)
        let objects = ItemObjects(parsed)
        let found = try KeychainConnection.current.copy(try parsed.copyRequest())
        guard found.count > 0 else { throw KeychainError(.itemNotFound) }
        guard let result, !objects.returns.isEmpty else { return }
        if parsed.limit == .one {
            guard let item = found.first() else { throw KeychainError(.itemNotFound) }
            guard let object = try objects.object(item) else { return try objects.checkMissing(item) }
            result.pointee = object
        } else {
            let array = NSMutableArray(capacity: found.count)
            try found.forEach { item throws(KeychainError) in
                if let object = try objects.objectInList(item) { array.add(object) }
            }
            if array.count > 0 { return result.pointee = array }
            if let item = found.first() { try objects.checkMissing(item) }
        }
    }
}

/// `SecItemUpdate`: changes all items that match, atomically.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
    keychainStatus { () throws(KeychainError) in
        let parsed = try ParsedQuery(query, for: .update, hasResult: false)
        let changes = try ParsedChanges(attributesToUpdate, of: parsed.itemClass)
        let room = try LockedRoom.shared.reserve(changes.data?.count ?? 0)
        defer { withExtendedLifetime(room) {} }
        let count = try KeychainConnection.current.update(try parsed.updateRequest(changes))
        guard count > 0 else { throw KeychainError(.itemNotFound) }
    }
}

/// `SecItemDelete`: deletes all items that match; shows no prompt.
///
/// A private key in the keychain's hardware is deleted with its first item: a `SecKey` of it gets `errSecItemNotFound` from then on,
/// and so does adding it again. On Apple's systems such a `SecKey` goes on working.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    keychainStatus { () throws(KeychainError) in
        let parsed = try ParsedQuery(query, for: .delete, hasResult: false)
        let deleted = try KeychainConnection.current.delete(try parsed.deleteRequest())
        guard deleted.count > 0 else { throw KeychainError(.itemNotFound) }
    }
}

extension ParsedQuery {
    /// Adds a key to the keychain with this query's attributes.
    func add(_ material: KeyMaterial) throws(KeychainError) -> PersistentReference? {
        let added = try KeychainConnection.current.add(try adding(SecKey(material)).addRequest())
        return added.first()?.reference
    }
}
