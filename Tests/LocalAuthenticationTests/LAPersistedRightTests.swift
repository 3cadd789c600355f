import Foundation
import KeychainClient
import KeychainModel
import LocalAuthentication
import ScriptedDaemon
import Security
import Synchronization
import Testing

@Suite("LAPersistedRight")
struct LAPersistedRightTests {
    /// The item that the peer stores: one right, bound to the enrolled fingers.
    private struct Kept: Sendable {
        /// The generator of P-256 (SEC 2, 2.4.2), a valid public key.
        static let publicKey: [UInt8] = [
            4,
            0x6B, 0x17, 0xD1, 0xF2, 0xE1, 0x2C, 0x42, 0x47, 0xF8, 0xBC, 0xE6, 0xE5, 0x63, 0xA4, 0x40, 0xF2,
            0x77, 0x03, 0x7D, 0x81, 0x2D, 0xEB, 0x33, 0xA0, 0xF4, 0xA1, 0x39, 0x45, 0xD8, 0x98, 0xC2, 0x96,
            0x4F, 0xE3, 0x42, 0xE2, 0xFE, 0x1A, 0x7F, 0x9B, 0x8E, 0xE7, 0xEB, 0x4A, 0x7C, 0x0F, 0x9E, 0x16,
            0x2B, 0xCE, 0x33, 0x57, 0x6B, 0x31, 0x5E, 0xCE, 0xCB, 0xB6, 0x40, 0x68, 0x37, 0xBF, 0x51, 0xF5,
        ]

        var flags: AccessControlFlags = [.biometryCurrentSet, .privateKeyUsage]
        var fingersHaveChanged = false
        var representation: [UInt8]? = [1, 2, 3]
        var isLocked = false

        var key: ScriptedDaemon.Answer {
            guard !fingersHaveChanged else {
                return .failure(KeychainError(.itemNotFound, cause: .invalidated))
            }
            guard
                let rules = try? AccessControl(accessibility: .whenUnlockedThisDeviceOnly, flags: flags)
            else { return .failure(KeychainError(.param)) }
            let key = EnclaveKey(
                representation: [1, 2, 3],
                publicKey: Self.publicKey,
                accessControl: rules,
                isHardware: false
            )
            return .body(KeyReply(key))
        }
    }

    private final class Peer: Sendable {
        let kept = Mutex(Kept())

        func daemon() throws -> ScriptedDaemon {
            try ScriptedDaemon { head, reader in
                let kept = self.kept.withLock { $0 }
                switch head.method {
                case .copyItems:
                    let query = try CopyItems(from: &reader).query
                    #expect(query.attributes[.account] == .string("safe"))
                    if kept.isLocked {
                        return .failure(KeychainError(.interactionNotAllowed, cause: .locked))
                    }
                    let representation = kept.representation.map { AttributeValue.data($0) }
                    return .items([.init(attributes: representation.map { [.generic: $0] } ?? [:])])
                case .readKey:
                    #expect(try ReadKey(from: &reader).representation == [1, 2, 3])
                    return kept.key
                case .evaluatePolicy:
                    #expect(try EvaluatePolicy(from: &reader).policy == 1)
                    return .body(EvaluationReply(factors: [.biometry], domainState: nil))
                default:
                    _ = try ContextNumber(from: &reader)
                    return .body(EmptyBody())
                }
            }
        }

        func change(_ change: (inout Kept) -> Void) { kept.withLock { change(&$0) } }
    }

    private static func load(_ daemon: ScriptedDaemon) async throws -> LAPersistedRight {
        try await KeychainConnection.$current.withValue(daemon.keychain) {
            try await LARightStore.shared.right(forIdentifier: "safe")
        }
    }

    @Test("a right needs a finger of the set it was saved with, and is lost when the set changes")
    func changedFingers() async throws {
        let peer = Peer()
        let daemon = try peer.daemon()
        let right = try await Self.load(daemon)
        try await right.authorize(localizedReason: "open the safe")
        #expect(right.state == .authorized)
        peer.change { $0.fingersHaveChanged = true }
        do {
            try await right.authorize(localizedReason: "open the safe")
            Issue.record("authorized by other fingers")
        } catch let error as LAError {
            #expect(error.code == .authenticationFailed)
            let cause = error.userInfo[NSUnderlyingErrorKey] as? NSError
            #expect(cause?.localizedDescription == DriverCause.invalidated.code)
        }
        #expect(right.state == .notAuthorized)
        await #expect(throws: LAError.self) { try await right.checkCanAuthorize() }
        #expect(daemon.requested.filter { $0 == .evaluatePolicy }.count == 1, "nobody is asked for nothing")
        do {
            _ = try await Self.load(daemon)
            Issue.record("loaded without its key")
        } catch let error as NSError {
            #expect(error.code == Int(errSecItemNotFound))
        }
    }

    @Test("a right in a locked keychain, which cannot be checked before, is authorized")
    func locked() async throws {
        let peer = Peer()
        let daemon = try peer.daemon()
        let right = try await Self.load(daemon)
        peer.change { $0.isLocked = true }
        try await right.authorize(localizedReason: "open the safe")
        #expect(right.state == .authorized)
    }

    @Test("an invalid item in the keychain is not loaded as a right")
    func damaged() async throws {
        let changes: [@Sendable (inout Kept) -> Void] = [
            { $0.representation = nil }, { $0.flags = [.companion, .privateKeyUsage] },
        ]
        for change in changes {
            let peer = Peer()
            peer.change(change)
            let daemon = try peer.daemon()
            do {
                _ = try await Self.load(daemon)
                Issue.record("loaded what is no right")
            } catch let error as NSError {
                #expect(error.code == Int(errSecDecode))
            }
        }
    }
}
