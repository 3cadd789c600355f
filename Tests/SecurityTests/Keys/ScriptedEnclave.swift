import CBOR
import Crypto
import Foundation
import KeychainClient
import KeychainModel
import ScriptedDaemon
import SecretMemory
import Security
import Synchronization

/// A daemon with one private key that records the added items.
final class ScriptedEnclave: Sendable {
    /// An item as added.
    struct Item: Sendable {
        let attributes: ItemAttributes
        let accessControl: AccessControl
        let data: [UInt8]
    }

    private struct State {
        var items: [Item] = []
        var groups: [AccessGroup?] = []
        var uses: [UseKey] = []
        var queries: [ItemQuery] = []
    }

    /// The key's representation.
    static let representation: [UInt8] = Array("a sealed key".utf8)

    private let key = P256.KeyAgreement.PrivateKey(compactRepresentable: false)
    private let state = Mutex(State())
    private let failure: KeychainError?

    /// The items added so far.
    var items: [Item] { state.withLock(\.items) }
    /// The access groups of the keys to be made.
    var groups: [AccessGroup?] { state.withLock(\.groups) }
    /// The uses of the key so far.
    var uses: [UseKey] { state.withLock(\.uses) }
    /// The queries of look-ups and deletions so far.
    var queries: [ItemQuery] { state.withLock(\.queries) }

    /// Creates a key; `failure` is the answer to every use of it.
    init(failure: KeychainError? = nil) { self.failure = failure }

    /// Runs `body` with this daemon's keychain as the user's.
    func use<R>(_ body: () throws -> R) throws -> R {
        let daemon = try ScriptedDaemon { [self] head, reader in try answer(head, &reader) }
        return try withExtendedLifetime(daemon) {
            try KeychainConnection.$current.withValue(daemon.keychain, operation: body)
        }
    }

    private func answer(_ head: RequestHead, _ reader: inout CBORReader) throws -> ScriptedDaemon.Answer {
        switch head.method {
        case .makeKey:
            let request = try MakeKey(from: &reader)
            state.withLock { $0.groups.append(request.group) }
            return .body(KeyReply(enclaveKey(request.accessControl)))
        case .readKey:
            guard try ReadKey(from: &reader).representation == Self.representation else {
                return .failure(KeychainError(.decode))
            }
            return .body(KeyReply(enclaveKey(AccessControl(accessibility: .whenUnlocked))))
        case .useKey:
            let request = try UseKey(from: &reader)
            state.withLock { $0.uses.append(request) }
            if let failure { return .failure(failure) }
            let result = try use(request.use)
            return .reply { $0.message(KeyResult(SecretBytes(copying: result))) }
        case .addItem:
            let request = try AddItem(from: &reader)
            let octets =
                switch request.data {
                case .some(let data): data.withUnsafeBytes { [UInt8]($0) }
                case .none: [UInt8]()
                }
            let item = Item(
                attributes: request.attributes,
                accessControl: request.accessControl,
                data: octets
            )
            state.withLock { $0.items.append(item) }
            return .items([request.returns.isEmpty ? nil : found(item, request.returns)].compactMap(\.self))
        case .copyItems:
            let query = try CopyItems(from: &reader).query
            state.withLock { $0.queries.append(query) }
            return .items(items.map { found($0, query.returns) })
        case .deleteItems:
            let query = try DeleteItems(from: &reader).query
            state.withLock { $0.queries.append(query) }
            return .body(CountBody(items.count))
        default: return .failure(KeychainError(.unimplemented))
        }
    }

    private func enclaveKey(_ accessControl: AccessControl) -> EnclaveKey {
        EnclaveKey(
            representation: Self.representation,
            publicKey: [UInt8](key.publicKey.x963Representation),
            accessControl: accessControl,
            isHardware: false
        )
    }

    private func use(_ use: KeyUse) throws -> [UInt8] {
        switch use {
        case .sign(let digest):
            let signing = try P256.Signing.PrivateKey(rawRepresentation: key.rawRepresentation)
            return [UInt8](try signing.signature(for: Digest32(octets: digest)).rawRepresentation)
        case .agree(let other), .decrypt(let other):
            let publicKey = try P256.KeyAgreement.PublicKey(x963Representation: other)
            return try key.sharedSecretFromKeyAgreement(with: publicKey).withUnsafeBytes { [UInt8]($0) }
        case .signCounted: throw KeychainError(.param)
        }
    }

    private func found(_ item: Item, _ returns: ItemQuery.Returns) -> ScriptedDaemon.Item {
        ScriptedDaemon.Item(
            reference: returns.contains(.persistentRef) ? [UInt8](repeating: 9, count: 16) : nil,
            attributes: returns.contains(.attributes) ? item.attributes : nil,
            data: returns.contains(.data) ? item.data : nil
        )
    }
}

/// A digest received from the client.
private struct Digest32: Digest {
    static var byteCount: Int { 32 }
    let octets: [UInt8]

    func withUnsafeBytes<R>(_ body: (UnsafeRawBufferPointer) throws -> R) rethrows -> R {
        try octets.withUnsafeBytes(body)
    }

    func makeIterator() -> IndexingIterator<[UInt8]> { octets.makeIterator() }
}
