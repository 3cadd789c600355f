import KeychainClient
import KeychainModel
import SecretMemory

/// The gestures that count now: each lets one client read certain items for a while.
///
/// The proof is at the daemon, in a context of the client's own connection, which ends by the daemon's clock.
final class Grants: Sendable {
    /// A gesture for an item.
    struct Grant: Sendable {
        /// Identifies the gesture, which several items may have.
        let number: UInt64
        /// The client's process.
        let process: Int32
        let item: PersistentReference
        let label: String
        /// The context that holds the proof.
        let context: UInt64
        let end: ContinuousClock.Instant
        /// ``ItemIndex/locks`` at the gesture.
        let locks: UInt64
        /// How many reads are left; nil for any number.
        var reads: Int?
        /// The connection whose context it is.
        let keychain: RemoteKeychain
    }

    private struct Key: Hashable {
        let client: String
        let item: PersistentReference
    }

    private struct State {
        var grants: [Key: Grant] = [:]
        var lastNumber: UInt64 = 0
    }

    /// How long a gesture counts for the items that it was for, if they say nothing else.
    static let time = Duration.seconds(10)
    /// How often each of them may be read then.
    static let reads = 3

    private let state = Guarded(State())

    /// The context in which a client may read an item now; nil without a gesture for it.
    ///
    /// `locks` is ``ItemIndex/locks`` now.
    func context(for item: PersistentReference, of client: String, _ locks: UInt64) -> UInt64? {
        let key = Key(client: client, item: item)
        return state.withLock { state in
            guard let grant = state.grants[key] else { return nil }
            guard Self.counts(grant, locks) else {
                state.grants[key] = nil
                return nil
            }
            return grant.context
        }
    }

    /// Notes that a client read an item by its gesture.
    func noteRead(of item: PersistentReference, by client: String) {
        state.withLock { state in
            guard let reads = state.grants[Key(client: client, item: item)]?.reads else { return }
            state.grants[Key(client: client, item: item)]?.reads = reads - 1
        }
    }

    /// Keeps a gesture of a client for items, by reference and label.
    func add(
        _ items: [(reference: PersistentReference, label: String)],
        of client: String,
        process: Int32,
        context: UInt64,
        lasting window: Duration?,
        _ locks: UInt64,
        _ keychain: RemoteKeychain
    ) {
        let end = ContinuousClock.now + (window ?? Self.time)
        state.withLock { state in
            state.lastNumber += 1
            for item in items {
                state.grants[Key(client: client, item: item.reference)] = Grant(
                    number: state.lastNumber,
                    process: process,
                    item: item.reference,
                    label: item.label,
                    context: context,
                    end: end,
                    locks: locks,
                    reads: window == nil ? Self.reads : nil,
                    keychain: keychain
                )
            }
        }
    }

    /// Those that count, the oldest first.
    func all(_ locks: UInt64) -> [Grant] {
        state.withLock { $0.grants.values.filter { Self.counts($0, locks) } }
            .sorted { ($0.number, $0.label) < ($1.number, $1.label) }
    }

    /// Ends the gestures that `isMeant` is true for, also for the other items of each; the daemon forgets their proofs.
    ///
    /// - Returns: how many there were.
    @discardableResult
    func end(_ isMeant: (_ client: String, Grant) -> Bool) -> Int {
        let ended = state.withLock { state in
            let numbers = Set(state.grants.filter { isMeant($0.key.client, $0.value) }.map(\.value.number))
            let ended = state.grants.values.filter { numbers.contains($0.number) }
            state.grants = state.grants.filter { !numbers.contains($0.value.number) }
            return Dictionary(ended.map { ($0.number, $0) }) { first, _ in first }
        }
        // Without the daemon there is no proof either.
        for grant in ended.values { try? grant.keychain.invalidateContext(grant.context) }
        return ended.count
    }

    /// Forgets the gestures of a client that has gone, whose connection takes the proofs along.
    func forget(_ client: String) {
        state.withLock { state in state.grants = state.grants.filter { $0.key.client != client } }
    }

    private static func counts(_ grant: Grant, _ locks: UInt64) -> Bool {
        grant.reads != 0 && grant.end > .now && grant.locks == locks
    }
}
