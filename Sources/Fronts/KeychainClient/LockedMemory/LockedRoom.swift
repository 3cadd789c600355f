import Glibc
public import KeychainModel
import SecretMemory

/// Limits the locked memory that the requests of this process hold together, in bytes.
///
/// `RLIMIT_MEMLOCK` is 8 MiB for an ordinary user, a secret may have 896 KiB and a result 4 MiB. A request for a large
/// secret reserves memory here first and waits while others hold it, so that many concurrent requests take longer instead
/// of failing. Memory that the app locks itself is not counted here; if locking fails nevertheless, the error is
/// `errSecAllocate`.
public final class LockedRoom: Sendable {
    /// The instance of this process, which has one limit.
    public static let shared = LockedRoom(allowed: LockedRoom.octetsAllowed)

    /// How long a request waits for a reservation.
    public static let patience: Duration = .seconds(10)
    /// The maximum size without a reservation: such secrets fit into the blocks for small secrets.
    static let smallest = 4096
    /// Memory that is not available to requests: the arena of small blocks with space to grow, the spare regions beside
    /// it (``LockedPages``), one arriving frame while it moves to a larger block, and one frame being sent.
    private static var reserved: Int {
        let arena = max(LockedPages.arenaLockedByteCount + 4 * LockedPages.regionByteCount, 1 << 20)
        return arena + LockedPages.spareByteCount + 2 * Frame.longest + (384 << 10)
    }

    private struct State {
        var used = 0
        /// The waiting requests, in order of arrival.
        var waiting: [UInt64] = []
        var lastTicket: UInt64 = 0
    }
    private let state = Monitor(State())
    private let allowed: @Sendable () -> Int

    /// - Parameter allowed: returns the available memory; called each time, because an app may change its
    ///   limit.
    init(allowed: @escaping @Sendable () -> Int) { self.allowed = allowed }

    /// The memory that `RLIMIT_MEMLOCK` leaves for requests, at most 60 MiB; 0 if it leaves none.
    private static func octetsAllowed() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0 else { return 0 }
        return max(0, Int(min(limit.rlim_cur, 64 << 20)) - reserved)
    }

    /// A reservation, which is released with its last reference.
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

    /// Waits for a reservation of `octets`; requests are served in order of arrival.
    ///
    /// - Parameters:
    ///   - octets: the size; a size above the total is granted when no other reservation is held.
    ///   - patience: how long to wait.
    ///   - cancellation: cancels the wait.
    /// - Returns: the reservation, valid while it is referenced.
    /// - Throws: ``KeychainError`` with `errSecAllocate` if others hold the memory for longer than
    ///   `patience`.
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
        // Also after success: the next waiting request checks now.
        state.change { $0.waiting.removeAll { $0 == ticket } }
        if granted == true { return Reservation(self, octets: octets) }
        if let cancellation, cancellation.isCancelled { throw .cancelledByApp }
        throw KeychainError(.allocate, cause: .noRoom, remedy: .retry)
    }

    /// Reserves `octets` without waiting; nil if there is not enough memory now.
    func reserveNow(_ octets: Int) -> Reservation? {
        guard octets > Self.smallest else { return Reservation(self, octets: 0) }
        let isThere = state.change { state in
            guard fits(octets, state) else { return false }
            state.used += octets
            return true
        }
        return isThere ? Reservation(self, octets: octets) : nil
    }

    /// The size of all current reservations, in bytes.
    var used: Int { state.inspect { $0.used } }

    private func fits(_ octets: Int, _ state: borrowing State) -> Bool {
        state.used == 0 || state.used + octets <= allowed()
    }
}

extension DriverCause {
    /// Other requests of the process hold the available locked memory.
    static let noRoom = DriverCause(domain: "touchstone", code: "lockedMemoryInUse")
}
