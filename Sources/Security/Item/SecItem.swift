public import CoreFoundation
import Foundation
import KeychainClient
import KeychainModel
import SecretMemory

/// `SecItemAdd`: stores an item.
///
/// Blocks while the user is asked to unlock the keychain. `result` receives what the `kSecReturn…` keys ask
/// for.
@discardableResult
public func SecItemAdd(_ attributes: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?) -> OSStatus {
    keychainStatus { () throws(KeychainError) in
        let item = try ParsedQuery(attributes, for: .add, hasResult: result != nil)
        let objects = ItemObjects(returns: item.returns, itemClass: item.itemClass)
        let added = try KeychainConnection.current.add(try item.addRequest())
        guard let result, !objects.returns.isEmpty else { return }
        added.forEach { result.pointee = objects.object($0) }
    }
}

/// `SecItemCopyMatching`: finds items and returns what the `kSecReturn…` keys ask for.
///
/// Blocks while the user is asked for what an item's access control demands.
@discardableResult
public func SecItemCopyMatching(_ query: CFDictionary, _ result: UnsafeMutablePointer<CFTypeRef?>?)
    -> OSStatus
{
    keychainStatus { () throws(KeychainError) in
        let parsed = try ParsedQuery(query, for: .copyMatching, hasResult: result != nil)
        let objects = ItemObjects(returns: parsed.returns, itemClass: parsed.itemClass)
        let found = try KeychainConnection.current.copy(try parsed.copyRequest())
        guard found.count > 0 else { throw KeychainError(.itemNotFound) }
        guard let result, !objects.returns.isEmpty else { return }
        if parsed.limit == .one {
            if let item = found.first() { result.pointee = objects.object(item) }
        } else {
            let array = NSMutableArray(capacity: found.count)
            found.forEach { array.add(objects.object($0)) }
            result.pointee = array
        }
    }
}

/// `SecItemUpdate`: changes all items that match, all or none.
@discardableResult
public func SecItemUpdate(_ query: CFDictionary, _ attributesToUpdate: CFDictionary) -> OSStatus {
    keychainStatus { () throws(KeychainError) in
        let parsed = try ParsedQuery(query, for: .update, hasResult: false)
        let changes = try ParsedChanges(attributesToUpdate, of: parsed.itemClass)
        let count = try KeychainConnection.current.update(try parsed.updateRequest(changes))
        guard count > 0 else { throw KeychainError(.itemNotFound) }
    }
}

/// `SecItemDelete`: deletes all items that match; asks nobody.
@discardableResult
public func SecItemDelete(_ query: CFDictionary) -> OSStatus {
    keychainStatus { () throws(KeychainError) in
        let parsed = try ParsedQuery(query, for: .delete, hasResult: false)
        let count = try KeychainConnection.current.delete(try parsed.deleteRequest())
        guard count > 0 else { throw KeychainError(.itemNotFound) }
    }
}

/// Turns what `body` throws into a status, and keeps it for ``TouchstoneCopyLastError()``.
private func keychainStatus(_ body: () throws(KeychainError) -> Void) -> OSStatus {
    do {
        try body()
        LastError.current = nil
        return errSecSuccess
    } catch {
        LastError.current = error
        return error.status.rawValue
    }
}

extension ItemObjects {
    fileprivate func object(_ item: borrowing ItemResult) -> NSObject {
        object(reference: item.reference, attributes: item.attributes, data: item.data)
    }
}
