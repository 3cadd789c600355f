package import CoreFoundation
package import Foundation
import Security

/// Calls of Apple's functions as in an app's code, on generic passwords of one service.
package struct AppCalls: Sendable {
    private let service: String

    /// Creates calls for a service.
    package init(service: String) { self.service = service }

    /// A status other than success, or an unexpected result.
    package struct Failure: Error {
        /// The function's status.
        package let status: OSStatus
    }

    /// The dictionary that finds one item and its data.
    package func lookup(_ account: String) -> CFDictionary {
        item(account).merging([kSecReturnData: true, kSecMatchLimit: kSecMatchLimitOne]) { $1 }
            as CFDictionary
    }

    /// The dictionary that finds all items.
    package func list(attributes: Bool, data: Bool) -> CFDictionary {
        [
            kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecMatchLimit: kSecMatchLimitAll,
            kSecReturnAttributes: attributes, kSecReturnData: data,
        ] as [CFString: Any] as CFDictionary
    }

    /// Adds an item.
    package func add(_ account: String, _ data: Data) throws {
        let attributes = item(account).merging([kSecValueData: data]) { $1 }
        try check(SecItemAdd(attributes as CFDictionary, nil))
    }

    /// Copies the data of the item that a dictionary matches.
    package func copy(_ query: CFDictionary) throws -> Data {
        var result: CFTypeRef?
        try check(SecItemCopyMatching(query, &result))
        guard let data = result as? Data else { throw Failure(status: errSecDecode) }
        return data
    }

    /// The number of items that a dictionary matches.
    package func count(_ query: CFDictionary) throws -> Int {
        var result: CFTypeRef?
        try check(SecItemCopyMatching(query, &result))
        guard let items = result as? NSArray else { throw Failure(status: errSecDecode) }
        return items.count
    }

    private func item(_ account: String) -> [CFString: Any] {
        [kSecClass: kSecClassGenericPassword, kSecAttrService: service, kSecAttrAccount: account]
    }

    private func check(_ status: OSStatus) throws {
        guard status == errSecSuccess else { throw Failure(status: status) }
    }
}
