import KeychainClient
import KeychainModel
import SecretMemory
import SecretServiceModel
import Threads

/// The items of the service without their secrets, as the daemon has them now: searches then ask nobody.
///
/// Filled by the first search after the daemon has begun to report changes, and kept while it does: another program's change, a lock and
/// the end of the daemon empty it.
final class ItemIndex: Sendable {
    /// What was read together.
    struct Content: Sendable {
        var items = ItemTable()
        var rules: [ProtectionRule] = []
    }

    private struct State {
        var content: Content?
        /// Whether the daemon reports changes.
        var isHeard = false
        /// Whether a thread waits for reports.
        var isListening = false
        /// How many reports of our own changes are to come.
        var own = 0
        /// How often the daemon has forgotten the proofs of gestures.
        var locks: UInt64 = 0
        /// Changes whenever what was read before may be old.
        var generation: UInt64 = 0

        mutating func empty() {
            content = nil
            generation += 1
        }
    }

    /// The connection on which the daemon reports changes.
    private let keychain: RemoteKeychain
    private let state = Guarded(State())
    /// Raised while the daemon reports changes.
    private let heard = ThreadWake()
    /// What is called with the collections that were known when the daemon ended: nothing can be read until the next unlock.
    private let whenCold = Guarded<ColdHandler?>(nil)

    /// A structure, as ``SecretsShared``'s for the bus.
    private struct ColdHandler: Sendable {
        let run: @Sendable ([String]) -> Void
    }

    /// An empty index, which will listen to this keychain.
    init(of keychain: RemoteKeychain) { self.keychain = keychain }

    /// Has `body` called with the names of the collections when the daemon has ended.
    func onCold(_ body: @escaping @Sendable ([String]) -> Void) {
        whenCold.withLock { $0 = ColdHandler(run: body) }
    }

    // MARK: Reading

    /// What the daemon has; nil if it has to be asked.
    func read<R>(_ body: (Content) -> R) -> R? {
        state.withLock { state in state.content.map(body) }
    }

    /// The number of a reading that begins now; nil if its result could not be kept.
    func beginReading() -> UInt64? { state.withLock { $0.isHeard ? $0.generation : nil } }

    /// Keeps what a reading found, unless something has changed since its beginning.
    func keep(_ content: Content, from generation: UInt64) {
        state.withLock { state in
            if state.isHeard, state.generation == generation { state.content = content }
        }
    }

    /// A number that changes when the daemon forgets the proofs of gestures: with a lock, and with its end.
    var locks: UInt64 { state.withLock { $0.locks } }

    // MARK: Own changes

    /// Makes a change of one item, which `refresh` reads again; nil for one that has gone.
    ///
    /// - Returns: what `change` returns.
    func change<R>(
        _ place: ItemTable.Place,
        _ change: () throws(BusFault) -> R,
        refresh: (R) -> SecretItem?
    ) throws(BusFault) -> R {
        // Before the daemon reports changes it reports this one to nobody.
        let isHeard = state.withLock { state in
            if state.isHeard { state.own += 1 }
            return state.isHeard
        }
        let result: R
        do throws(BusFault) {
            result = try change()
        } catch {
            // Nothing was changed, or nobody knows.
            state.withLock { state in
                if isHeard { state.own = max(0, state.own - 1) }
                state.empty()
            }
            throw error
        }
        let item = refresh(result)
        state.withLock { state in
            state.content?.items[place] = item
            state.generation += 1
        }
        return result
    }

    /// Empties the index, because more than one item changes.
    func empty() { state.withLock { $0.empty() } }

    // MARK: Reports

    /// Has the daemon report changes from now on, if it does not.
    func listen() {
        let mustStart = state.withLock { state in
            defer { state.isListening = true }
            return !state.isListening
        }
        guard mustStart else { return }
        let failure = BlockingThread.start { [self] in
            // The first try may find the connection of a daemon that has ended.
            for _ in 0..<2 where !state.withLock(\.isHeard) {
                try? keychain.watch(tellsItems: true, cancellation: Cancellation()) { [self] in note($0) }
            }
            end()
        }
        if failure != 0 { end() }
    }

    /// Waits until the daemon reports changes, at most a second: who is told that the keychain is unlocked is told of its end then.
    func waitUntilHeard() {
        listen()
        _ = heard.wait(atMost: 1000)
    }

    private func end() {
        let (wasHeard, content) = state.withLock { state in
            defer {
                state.empty()
                state.locks += 1
                (state.isHeard, state.isListening, state.own) = (false, false, 0)
            }
            if state.isHeard { heard.lower() }
            return (state.isHeard, state.content)
        }
        guard wasHeard else { return }
        let made = content?.items.items(in: SecretRecords.collections).map(\.name) ?? []
        whenCold.withLock { $0 }?.run(Set(made + [SecretNames.defaultCollection]).sorted())
    }

    private func note(_ reply: ChangesReply) {
        state.withLock { state in
            if !state.isHeard { heard.raise() }
            state.isHeard = true
            if reply.isIncomplete {
                state.own = 0
                state.empty()
            }
            for change in reply.changes {
                if change.kind == .locked || change.kind == .passcode { state.locks += 1 }
                switch change.kind {
                case .items where state.own > 0: state.own -= 1
                case .items, .locked, .passcode, .invalidated, .tampering: state.empty()
                case .unlocked, .enrolment, .sensor, .lockout, .lockoutEnd, .assurance: break
                }
            }
        }
    }
}
