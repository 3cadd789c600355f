import Foundation
import Glibc
import LocalAuthentication
import SecretMemory
import Security
import Synchronization
import Testing

/// An app with an ordinary user's limits, in a separate process for each test.
@Suite(
    "An app with little locked memory",
    .enabled(if: RunningKeychain.isBuilt, "touchstoned is not built")
)
struct LockedMemoryTests {
    private static let large = 910_000

    private static func item(_ account: String, _ more: [CFString: Any] = [:]) -> CFDictionary {
        let base: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: "scarce", kSecAttrAccount: account,
        ]
        return base.merging(more) { $1 } as CFDictionary
    }

    /// The status of one call per thread, all made at the same time.
    private static func statuses(
        _ threads: Int,
        _ running: RunningKeychain,
        _ call: @escaping @Sendable (Int) -> OSStatus
    ) -> [OSStatus] {
        let results = Mutex([OSStatus](repeating: -1, count: threads))
        let start = DispatchSemaphore(value: 0)
        let done = DispatchGroup()
        for thread in 0..<threads {
            done.enter()
            Thread.detachNewThread {
                start.wait()
                let status = running.use { call(thread) }
                results.withLock { $0[thread] = status }
                done.leave()
            }
        }
        for _ in 0..<threads { start.signal() }
        done.wait()
        return results.withLock { $0 }
    }

    /// Gives this process the limit of an ordinary user, and drops its thread's right to exceed it.
    private static func becomeOrdinary(_ running: RunningKeychain) {
        var limit = rlimit()
        precondition(getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0)
        limit.rlim_cur = 8 << 20
        precondition(setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0)
        Capabilities.dropMemoryLock()
    }

    @Test("two threads list 4 MiB each")
    func twoLists() async {
        await #expect(processExitsWith: .success) {
            let running = try await RunningKeychain()
            let sizes = Array(repeating: Self.large, count: 4) + [450_000]
            for (number, size) in sizes.enumerated() {
                let data = Data(repeating: UInt8(number), count: size)
                #expect(running.use { SecItemAdd(Self.item("\(number)", [kSecValueData: data]), nil) } == 0)
            }
            Self.becomeOrdinary(running)
            for _ in 0..<10 {
                let statuses = Self.statuses(2, running) { _ in
                    let query: [CFString: Any] = [
                        kSecClass: kSecClassGenericPassword, kSecAttrService: "scarce",
                        kSecMatchLimit: kSecMatchLimitAll, kSecReturnData: true,
                    ]
                    var result: CFTypeRef?
                    let status = SecItemCopyMatching(query as CFDictionary, &result)
                    guard status == errSecSuccess else { return status }
                    let lengths = (result as? [Data])?.map(\.count)
                    return lengths?.sorted() == sizes.sorted() ? status : -2
                }
                #expect(statuses == [errSecSuccess, errSecSuccess])
            }
        }
    }

    @Test("nine threads add 900 KB each")
    func nineAdds() async {
        await #expect(processExitsWith: .success) {
            let running = try await RunningKeychain()
            Self.becomeOrdinary(running)
            for _ in 0..<3 {
                let statuses = Self.statuses(9, running) { thread in
                    SecItemAdd(Self.item("\(thread)", [kSecValueData: Data(count: Self.large)]), nil)
                }
                #expect(statuses == Array(repeating: errSecSuccess, count: 9))
                let all = [kSecClass: kSecClassGenericPassword, kSecAttrService: "scarce"] as CFDictionary
                #expect(running.use { SecItemDelete(all) } == errSecSuccess)
            }
        }
    }

    /// Repeats each call with so little locked memory that every allocation fails once; each failure must be
    /// errSecAllocate.
    @Test("a call returns errSecAllocate if memory cannot be locked, and succeeds later")
    func nothingLeft() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let running = try await RunningKeychain()
            Self.becomeOrdinary(running)
            for call in try running.use({ try ScarceCall.all }) {
                var held = HeldSecret.all()
                var refusals = 0
                while true {
                    let status = running.use { call.run() }
                    if status == errSecSuccess { break }
                    precondition(
                        status == errSecAllocate,
                        "\(call.name): \(status), refused \(refusals) times"
                    )
                    refusals += 1
                    precondition(held.popLast() != nil, "\(call.name) needs more than there is")
                }
                precondition(refusals > 0, "\(call.name): nothing was refused")
            }
        }
        // The output of the process if it failed.
        let said = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        if !said.isEmpty { Issue.record(Comment(rawValue: said)) }
    }
}

/// A secret in an array.
private final class HeldSecret {
    private let secret: SecretBytes

    private init(_ secret: consuming SecretBytes) { self.secret = secret }

    /// Allocates all available locked memory, the largest blocks first.
    static func all() -> [HeldSecret] {
        var held: [HeldSecret] = []
        var count = 1 << 20
        while count > 0 {
            if let secret = try? SecretBytes(lockedCount: count, filledBy: { _ in }) {
                held.append(HeldSecret(secret))
            } else {
                count /= 2
            }
        }
        return held
    }
}

/// An API call, repeated until it succeeds.
private struct ScarceCall {
    let name: String
    let run: () -> OSStatus
}

extension ScarceCall {
    private static func query(_ account: String, _ more: [CFString: Any] = [:]) -> CFDictionary {
        let base: [CFString: Any] = [
            kSecClass: kSecClassGenericPassword, kSecAttrService: "calls", kSecAttrAccount: account,
        ]
        return base.merging(more) { $1 } as CFDictionary
    }

    private static func copy(_ account: String, _ more: [CFString: Any]) -> OSStatus {
        var result: CFTypeRef?
        return SecItemCopyMatching(query(account, more), &result)
    }

    private static func status(_ body: (inout Unmanaged<CFError>?) -> Any?) -> OSStatus {
        var error: Unmanaged<CFError>?
        if body(&error) != nil { return errSecSuccess }
        return error.map { OSStatus($0.takeRetainedValue().code) } ?? -3
    }

    private static func key(_ type: CFString, _ bits: Int, _ more: [CFString: Any] = [:]) throws -> SecKey {
        let wanted: [CFString: Any] = [kSecAttrKeyType: type, kSecAttrKeySizeInBits: bits]
        return try #require(SecKeyCreateRandomKey(wanted.merging(more) { $1 } as CFDictionary, nil))
    }

    static var all: [ScarceCall] {
        get throws {
            let text = Data("a message".utf8)
            let elliptic = try key(kSecAttrKeyTypeECSECPrimeRandom, 256)
            let enclave = try key(
                kSecAttrKeyTypeECSECPrimeRandom,
                256,
                [kSecAttrTokenID: kSecAttrTokenIDSecureEnclave]
            )
            let rsa = try key(kSecAttrKeyTypeRSA, 2048)
            let publicKeys = try [elliptic, enclave, rsa].map { try #require(SecKeyCopyPublicKey($0)) }
            let sealed = SecKeyAlgorithm.eciesEncryptionCofactorX963SHA256AESGCM
            let toElliptic = try #require(
                SecKeyCreateEncryptedData(publicKeys[0], sealed, text as CFData, nil)
            )
            let toEnclave = try #require(
                SecKeyCreateEncryptedData(publicKeys[1], sealed, text as CFData, nil)
            )
            let toRSA = try #require(
                SecKeyCreateEncryptedData(publicKeys[2], .rsaEncryptionOAEPSHA256, text as CFData, nil)
            )
            let large = Data(repeating: 7, count: 100_000)
            return [
                ScarceCall(name: "add") { SecItemAdd(query("small", [kSecValueData: text]), nil) },
                ScarceCall(name: "add, large") { SecItemAdd(query("large", [kSecValueData: large]), nil) },
                ScarceCall(name: "add, returned") {
                    var result: CFTypeRef?
                    let item: [CFString: Any] = [
                        kSecValueData: text, kSecReturnData: true, kSecReturnAttributes: true,
                    ]
                    return SecItemAdd(query("returned", item), &result)
                },
                ScarceCall(name: "copy") { copy("small", [kSecReturnData: true]) },
                ScarceCall(name: "copy, large") { copy("large", [kSecReturnData: true]) },
                ScarceCall(name: "copy, attributes") { copy("small", [kSecReturnAttributes: true]) },
                ScarceCall(name: "update") {
                    SecItemUpdate(query("small"), [kSecValueData: large] as CFDictionary)
                },
                ScarceCall(name: "delete") { SecItemDelete(query("small")) },
                ScarceCall(name: "add a key") {
                    let item: [CFString: Any] = [
                        kSecClass: kSecClassKey, kSecValueRef: elliptic, kSecAttrApplicationTag: text,
                    ]
                    return SecItemAdd(item as CFDictionary, nil)
                },
                ScarceCall(name: "copy a key") {
                    let item: [CFString: Any] = [
                        kSecClass: kSecClassKey, kSecAttrApplicationTag: text, kSecReturnRef: true,
                    ]
                    var result: CFTypeRef?
                    return SecItemCopyMatching(item as CFDictionary, &result)
                },
                ScarceCall(name: "agree") {
                    status { error in
                        SecKeyCopyKeyExchangeResult(
                            elliptic,
                            .ecdhKeyExchangeStandardX963SHA256,
                            publicKeys[1],
                            [SecKeyKeyExchangeParameter.requestedSize.rawValue as String: 32] as CFDictionary,
                            &error
                        )
                    }
                },
                ScarceCall(name: "decrypt, EC") {
                    status { SecKeyCreateDecryptedData(elliptic, sealed, toElliptic, &$0) }
                },
                ScarceCall(name: "decrypt, enclave") {
                    status { SecKeyCreateDecryptedData(enclave, sealed, toEnclave, &$0) }
                },
                ScarceCall(name: "decrypt, RSA") {
                    status { SecKeyCreateDecryptedData(rsa, .rsaEncryptionOAEPSHA256, toRSA, &$0) }
                },
                ScarceCall(name: "sign, enclave") {
                    status {
                        SecKeyCreateSignature(enclave, .ecdsaSignatureMessageX962SHA256, text as CFData, &$0)
                    }
                },
                ScarceCall(name: "set a credential") {
                    LAContext().setCredential(text, type: .applicationPassword)
                        ? errSecSuccess : errSecAllocate
                },
            ]
        }
    }
}

/// capabilities(7) of the calling thread, inherited by the threads it starts.
private enum Capabilities {
    private struct Header {
        var version: UInt32 = 0x2008_0522
        var process: Int32 = 0
    }
    private struct Sets {
        var effective: UInt32 = 0
        var permitted: UInt32 = 0
        var inheritable: UInt32 = 0
    }
    private typealias Call = @convention(c) (UnsafeMutableRawPointer, UnsafeMutableRawPointer) -> CInt

    /// Drops `CAP_IPC_LOCK`, which overrides `RLIMIT_MEMLOCK`.
    static func dropMemoryLock() {
        var header = Header()
        var sets = (Sets(), Sets())
        precondition(call("capget")(&header, &sets) == 0)
        sets.0.effective &= ~(1 << 14)
        sets.0.permitted &= ~(1 << 14)
        precondition(call("capset")(&header, &sets) == 0)
    }

    /// No header that Swift can import declares these functions.
    private static func call(_ name: String) -> Call {
        guard let address = dlsym(nil, name) else { preconditionFailure("no \(name)") }
        return unsafeBitCast(address, to: Call.self)
    }
}
