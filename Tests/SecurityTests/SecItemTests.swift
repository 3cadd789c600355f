import Foundation
import KeychainClient
import KeychainModel
import ScriptedDaemon
import SecretMemory
import Security
import Synchronization
import Testing

@Suite("The SecItem functions")
struct SecItemTests {
    private static var query: [String: Any] {
        [kSecClass as String: kSecClassGenericPassword, kSecAttrAccount as String: "ada"]
    }

    private static func copy(_ more: [String: Any]) -> (status: OSStatus, result: CFTypeRef?) {
        var result: CFTypeRef?
        let status = SecItemCopyMatching(query.merging(more) { $1 } as CFDictionary, &result)
        return (status, result)
    }

    private static func answering(_ items: [ScriptedDaemon.Item]) throws -> ScriptedDaemon {
        try ScriptedDaemon { _, reader in
            _ = try CopyItems(from: &reader)
            return .items(items)
        }
    }

    private static let item = ScriptedDaemon.Item(
        reference: [UInt8](repeating: 9, count: 16),
        attributes: [
            .account: .string("ada"), .generic: .data([1, 2]), .port: .integer(443),
            .isInvisible: .boolean(true),
            .creationDate: .date(1_500_000), .accessible: .string("ak"),
        ],
        data: Array("secret".utf8)
    )

    @Test("a single requested result is returned as the value itself")
    func oneValue() throws {
        let daemon = try Self.answering([.init(data: Array("secret".utf8))])
        KeychainConnection.$current.withValue(daemon.keychain) {
            let (status, result) = Self.copy([kSecReturnData as String: true])
            #expect(status == errSecSuccess)
            #expect(result as? Data == Data("secret".utf8))
            #expect(result is NSData)
        }
        let other = try Self.answering([.init(reference: [UInt8](repeating: 9, count: 16))])
        KeychainConnection.$current.withValue(other.keychain) {
            #expect(
                Self.copy([kSecReturnPersistentRef as String: true]).result as? Data
                    == Data(repeating: 9, count: 16)
            )
        }
    }

    @Test("several requested results are returned as a dictionary with Apple's keys")
    func dictionary() throws {
        let daemon = try Self.answering([Self.item])
        try KeychainConnection.$current.withValue(daemon.keychain) {
            let wanted = [kSecReturnData, kSecReturnAttributes, kSecReturnPersistentRef].map {
                ($0 as String, true as Any)
            }
            let (status, result) = Self.copy(Dictionary(uniqueKeysWithValues: wanted))
            #expect(status == errSecSuccess)
            let item = try #require(result as? [String: Any])
            #expect(item[kSecValueData as String] as? Data == Data("secret".utf8))
            #expect(item[kSecValuePersistentRef as String] as? Data == Data(repeating: 9, count: 16))
            #expect(item[kSecAttrAccount as String] as? String == "ada")
            #expect(item[kSecAttrGeneric as String] as? Data == Data([1, 2]))
            #expect(item[kSecAttrPort as String] as? Int == 443)
            #expect(item[kSecAttrIsInvisible as String] as? Bool == true)
            #expect(item[kSecAttrCreationDate as String] as? Date == Date(timeIntervalSince1970: 1.5))
            #expect(item[kSecClass as String] as? String == kSecClassGenericPassword as String)
            #expect(item[kSecAttrAccessControl as String] is SecAccessControl)
            let byConstants = try #require(result as? [CFString: Any])
            #expect(byConstants[kSecAttrAccount] as? String == "ada")
            #expect((result as? NSDictionary)?[kSecAttrAccount] as? String == "ada")
        }
    }

    @Test("an access control is returned with its constraints")
    func accessControl() throws {
        let rules = try AccessControl(
            accessibility: .whenPasscodeSetThisDeviceOnly,
            flags: .biometryCurrentSet
        )
        let daemon = try Self.answering([.init(attributes: [.accessControl: .data(rules.encoded)])])
        KeychainConnection.$current.withValue(daemon.keychain) {
            let attributes = Self.copy([kSecReturnAttributes as String: true]).result as? [String: Any]
            let expected = SecAccessControlCreateWithFlags(
                nil,
                kSecAttrAccessibleWhenPasscodeSetThisDeviceOnly,
                .biometryCurrentSet,
                nil
            )
            #expect(attributes?[kSecAttrAccessControl as String] as? SecAccessControl == expected)
        }
    }

    @Test("every limit but one returns an array, even of one item")
    func array() throws {
        let daemon = try Self.answering([.init(data: [1])])
        KeychainConnection.$current.withValue(daemon.keychain) {
            for limit in [kSecMatchLimitAll as Any, 5] {
                let (_, result) = Self.copy([kSecReturnData as String: true, kSecMatchLimit as String: limit])
                #expect(result as? [Data] == [Data([1])])
            }
            #expect(
                Self.copy([kSecReturnData as String: true, kSecMatchLimit as String: 1]).result as? Data
                    == Data([1])
            )
        }
    }

    @Test("a query that requests nothing succeeds without a result")
    func noResult() throws {
        let daemon = try Self.answering([.init()])
        KeychainConnection.$current.withValue(daemon.keychain) {
            let (status, result) = Self.copy([:])
            #expect(status == errSecSuccess)
            #expect(result == nil)
            #expect(SecItemCopyMatching(Self.query as CFDictionary, nil) == errSecSuccess)
        }
    }

    @Test("no match is reported as errSecItemNotFound")
    func notFound() throws {
        let daemon = try ScriptedDaemon { head, reader in
            switch head.method {
            case .copyItems:
                _ = try CopyItems(from: &reader)
                return .failure(KeychainError(.itemNotFound, cause: .invalidated))
            case .updateItems:
                _ = try UpdateItems(from: &reader)
                return .body(CountBody(0))
            default:
                _ = try DeleteItems(from: &reader)
                return .body(CountBody(0))
            }
        }
        KeychainConnection.$current.withValue(daemon.keychain) {
            let (status, result) = Self.copy([kSecReturnData as String: true])
            #expect(status == errSecItemNotFound)
            #expect(result == nil)
            let error = TouchstoneCopyLastError()
            #expect(error?.domain == NSOSStatusErrorDomain)
            #expect(error?.code == Int(errSecItemNotFound))
            #expect((error?.userInfo[NSUnderlyingErrorKey] as? NSError)?.domain == "touchstone")
            #expect(
                SecItemUpdate(Self.query as CFDictionary, [kSecAttrLabel: "x"] as CFDictionary)
                    == errSecItemNotFound
            )
            #expect(SecItemDelete(Self.query as CFDictionary) == errSecItemNotFound)
        }
    }

    @Test("an added item is sent with its attributes, access control and secret")
    func add() throws {
        let seen = Mutex<(ItemAttributes, AccessControl, [UInt8], PromptFields)?>(nil)
        let daemon = try ScriptedDaemon { _, reader in
            let item = try AddItem(from: &reader)
            let octets =
                switch item.data {
                case .some(let data): data.withOctets { octets in octets.indices.map { octets[$0] } }
                case .none: [UInt8]()
                }
            seen.withLock { $0 = (item.attributes, item.accessControl, octets, item.prompt) }
            return .items([])
        }
        try KeychainConnection.$current.withValue(daemon.keychain) {
            let rules = try #require(
                SecAccessControlCreateWithFlags(nil, kSecAttrAccessibleAfterFirstUnlock, .userPresence, nil)
            )
            let item: [String: Any] = Self.query.merging([
                kSecAttrAccessControl as String: rules, kSecValueData as String: Data("secret".utf8),
                kSecUseOperationPrompt as String: "keep it",
                kSecUseAuthenticationUI as String: kSecUseAuthenticationUIFail,
            ]) { $1 }
            #expect(SecItemAdd(item as CFDictionary, nil) == errSecSuccess)
            let (attributes, accessControl, data, prompt) = try #require(seen.withLock { $0 })
            #expect(attributes == [.account: .string("ada")])
            #expect(accessControl == rules.accessControl)
            #expect(data == Array("secret".utf8))
            #expect(prompt.reason == "keep it")
            #expect(!prompt.interactionAllowed)
            #expect(SecItemAdd(Self.query as CFDictionary, nil) == errSecSuccess)
            #expect(seen.withLock { $0?.1 } == AccessControl(accessibility: .whenUnlocked), "the default")
        }
    }

    @Test("the last error is kept per thread until the next call")
    func lastError() throws {
        #expect(SecItemDelete([:] as CFDictionary) == errSecParam)
        #expect(TouchstoneCopyLastError()?.code == Int(errSecParam))
        let elsewhere = Mutex<CFError?>(NSError(domain: "unset", code: 0))
        let done = DispatchSemaphore(value: 0)
        Thread.detachNewThread {
            elsewhere.withLock { $0 = TouchstoneCopyLastError() }
            done.signal()
        }
        done.wait()
        #expect(elsewhere.withLock { $0 } == nil)
        let daemon = try Self.answering([.init()])
        KeychainConnection.$current.withValue(daemon.keychain) {
            #expect(Self.copy([:]).status == errSecSuccess)
            #expect(TouchstoneCopyLastError() == nil)
        }
    }

    @Test("without a daemon calls fail with errSecNotAvailable")
    func noDaemon() {
        let nowhere = Layout(
            runtimeDirectory: "/nonexistent",
            dataDirectory: "/nonexistent",
            configurationFile: "/nonexistent"
        )
        KeychainConnection.$current.withValue(RemoteKeychain(layout: nowhere, daemon: .none)) {
            #expect(SecItemCopyMatching(Self.query as CFDictionary, nil) == errSecNotAvailable)
            #expect(TouchstoneCopyLastError()?.localizedRecoverySuggestion == "Run `touchstone doctor`.")
        }
    }
}
