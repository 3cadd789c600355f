import Glibc
public import KeychainModel
import SecretMemory

/// The locked memory that the requests of this process may hold together, in bytes.
///
/// `RLIMIT_MEMLOCK` is 8 MiB for an ordinary user, a secret may have 896 KiB and a result 4 MiB. Who wants a large secret
/// moved asks here first and waits while others hold theirs, so that many threads at once take longer instead of failing.
/// What the app locks itself is not known here: memory that cannot be locked all the same is `errSecAllocate`.
public final class LockedRoom: Sendable {
    /// Of this process, whose limit it is.
    public static let shared = LockedRoom(allowed: LockedRoom.octetsAllowed)

    /// How long a request waits for room.
    public static let patience: Duration = .seconds(10)
    /// What needs no room of its own: it fits into the blocks that are kept for small secrets.
    static let smallest = 4096
    /// What no request is charged for: the arena of small blocks as it is, with room to grow, the regions kept beside it
    /// (``LockedPages``), one frame that arrives, while it moves to a larger block, and one that is sent.
    private static var reserved: Int {
        let arena = max(LockedPages.arenaLockedByteCount + 4 * LockedPages.regionByteCount, 1 << 20)
        return arena + LockedPages.spareByteCount + 2 * Frame.longest + (384 << 10)
    }

    private struct State {
        var used = 0
        /// Those who wait, in the order they came.
        var waiting: [UInt64] = []
        var lastTicket: UInt64 = 0
    }
    private let state = Monitor(State())
    private let allowed: @Sendable () -> Int

    /// - Parameter allowed: the room there is, asked for anew each time: an app may change its limit.
    init(allowed: @escaping @Sendable () -> Int) { self.allowed = allowed }

    /// What `RLIMIT_MEMLOCK` leaves for requests, at most 60 MiB; 0 where it leaves nothing.
    private static func octetsAllowed() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0 else { return 0 }
        return max(0, Int(min(limit.rlim_cur, 64 << 20)) - reserved)
    }

    /// Room that is given back when its last owner lets go.
    public final class Reservation: Sendable {
        private let room: LockedRoom
        private let octets: Int

        fileprivate init(_ room: LockedRoom, octets: Int) {
            self.room = room
            self.octets = octets
        }

        deinit {
            let octets = octets
            if octets > 0 { room.state.change { $0.used -= octets } }
        }
    }

    /// Waits for room for a secret of `octets`; those who came before are served before.
    ///
    /// - Parameters:
    ///   - octets: what is to be held; more than there is room for is granted when nobody else holds any.
    ///   - patience: how long to wait.
    ///   - cancellation: ends the wait.
    /// - Returns: the room, for as long as somebody holds it.
    /// - Throws: ``KeychainError`` with `errSecAllocate` when others hold the room for as long as that.
    public func reserve(
        _ octets: Int,
        patience: Duration = LockedRoom.patience,
        cancellation: Cancellation? = nil
    ) throws(KeychainError) -> Reservation {
        guard octets > Self.smallest else { return Reservation(self, octets: 0) }
        let ticket = state.change { state in
            state.lastTicket += 1
            state.waiting.append(state.lastTicket)
            return state.lastTicket
        }
        let deadline = ContinuousClock.now + patience
        let granted = state.wait(until: deadline, unless: { cancellation?.isCancelled ?? false }) {
            state -> Bool? in
            guard state.waiting.first == ticket, fits(octets, state) else { return nil }
            state.used += octets
            return true
        }
        // Also when it was granted: the next one in line looks now.
        state.change { $0.waiting.removeAll { $0 == ticket } }
        if granted == true { return Reservation(self, octets: octets) }
        if let cancellation, cancellation.isCancelled { throw .cancelledByApp }
        throw KeychainError(.allocate, cause: .noRoom, remedy: .retry)
    }

    /// Room for `octets`; nil when there is none now.
    func reserveNow(_ octets: Int) -> Reservation? {
        guard octets > Self.smallest else { return Reservation(self, octets: 0) }
        let isThere = state.change { state in
            guard fits(octets, state) else { return false }
            state.used += octets
            return true
        }
        return isThere ? Reservation(self, octets: octets) : nil
    }

    /// The bytes that are held now.
    var used: Int { state.inspect { $0.used } }

    private func fits(_ octets: Int, _ state: borrowing State) -> Bool {
        state.used == 0 || state.used + octets <= allowed()
    }
}

extension DriverCause {
    /// Other requests of the process held the locked memory that there is.
    static let noRoom = DriverCause(domain: "touchstone", code: "lockedMemoryInUse")
}
