import Glibc
import SecretMemory

/// The locked memory of a desk, in parts that cannot use up each other.
package struct LockedMemory: Sendable {
    /// For received requests and their secrets, even while a prompt is shown; the longest request always fits.
    package let requests: LockedMemoryBudget
    /// For pages of items while they are made; whoever holds it waits for nobody.
    let pages: LockedMemoryBudget
    /// For long pages while they are sent, which takes as long as their readers do.
    let longReplies: LockedMemoryBudget
    /// For the application passwords of contexts.
    let passwords: LockedMemoryBudget

    init(_ limits: DeskLimits) {
        let longest = LockedMemoryBudget.cost(ofRequest: limits.longestRequest)
        requests = LockedMemoryBudget(octets: max(limits.lockedOctets / 3, longest))
        let rest = (limits.lockedOctets - requests.capacity) / 2
        pages = LockedMemoryBudget(octets: max(rest, LockedMemoryBudget.pageCost))
        longReplies = LockedMemoryBudget(octets: max(rest, LockedMemoryBudget.pageCost))
        passwords = LockedMemoryBudget(octets: limits.passwordOctets)
    }
}

/// The locked memory that all visits together may hold for one purpose.
///
/// `RLIMIT_MEMLOCK` is 8 MiB for an ordinary user, and a failure to lock memory ends the process: so room is reserved
/// here as a request arrives and before items are opened, and callers wait until there is some.
package final class LockedMemoryBudget: Sendable {
    /// The memory of the arena of small blocks, the spare regions and the keys, which is not charged to requests.
    private static let reserved = LockedPages.arenaByteCount + LockedPages.spareByteCount + (192 << 10)
    /// The charge for a request that fits into the buffer a door has for each visit anyway.
    package static let smallest = 4096
    /// The charge for a page of items while its size is unknown: one long item after short ones, and the reply's head.
    static let pageCost = 5 << 18

    /// A frame that is arriving.
    private struct Arrival {
        var octets: Int
        /// What it will need when it is complete.
        let claim: Int

        var need: Int { claim - octets }
    }

    private struct State {
        var free: Int
        var arrivals: [UInt64: Arrival] = [:]
        var waiting: [UInt64: @Sendable () -> Void] = [:]
        var lastTicket: UInt64 = 0

        mutating func nextTicket() -> UInt64 {
            lastTicket += 1
            return lastTicket
        }

        /// Whether all arriving frames can be completed one after the other, once the complete requests are done.
        ///
        /// The banker's algorithm with one resource: frames that hold memory never wait for each other.
        func isSafe(_ capacity: Int) -> Bool {
            let frames = arrivals.values.filter { $0.need > 0 }.sorted { $0.need < $1.need }
            var free = capacity - frames.reduce(0) { $0 + $1.octets }
            for frame in frames {
                guard frame.need <= free else { return false }
                free += frame.octets
            }
            return true
        }
    }
    private let state: Guarded<State>
    fileprivate let capacity: Int

    package init(octets: Int) {
        capacity = octets
        state = Guarded(State(free: capacity))
    }

    /// The bytes that `RLIMIT_MEMLOCK` leaves for requests, at most 62 MiB.
    static func octetsAllowed() -> Int {
        var limit = rlimit()
        guard unsafe getrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0 else {
            return 6 << 20
        }
        return Int(min(limit.rlim_cur, 64 << 20)) - reserved
    }

    /// The charge for a complete request of `length` bytes: held once as received and once for its secret, then twice for
    /// the secret.
    package static func cost(ofRequest length: Int) -> Int { length <= smallest ? smallest : 2 * length }

    /// The charge for a buffer of `capacity` bytes in which a frame arrives: a larger one replaces it.
    package static func cost(ofBuffer capacity: Int) -> Int { 2 * capacity }

    /// Reserved memory, released with its last reference.
    package final class Reservation: Sendable {
        private let budget: LockedMemoryBudget
        private let octets: Int

        fileprivate init(_ budget: LockedMemoryBudget, octets: Int) {
            self.budget = budget
            self.octets = octets
        }

        deinit { budget.giveBack { $0.free += octets } }
    }

    /// Reserves `octets` bytes; nil if there is no room: `onRelease` is then called once, when a retry may succeed.
    package func reserve(_ octets: Int, onRelease: (@Sendable () -> Void)? = nil) -> Reservation? {
        let isThere = state.withLock { state in
            if state.free >= octets || state.free == capacity {
                state.free -= octets
                return true
            }
            if let onRelease { state.waiting[state.nextTicket()] = onRelease }
            return false
        }
        return isThere ? Reservation(self, octets: octets) : nil
    }

    /// The memory of a frame that is arriving and then of its request, released with the last reference.
    package final class ArrivingFrame: Sendable {
        private let budget: LockedMemoryBudget
        private let ticket: UInt64

        /// Reserves nothing yet; the frame will need `claim` bytes in the end.
        package init(in budget: LockedMemoryBudget, claim: Int) {
            self.budget = budget
            ticket = budget.state.withLock { state in
                let ticket = state.nextTicket()
                state.arrivals[ticket] = Arrival(octets: 0, claim: claim)
                return ticket
            }
        }

        /// Reserves `octets` bytes in all; false if there is no room, or if arriving frames could then wait for each other:
        /// `onRelease` is called once, when a retry may succeed.
        package func grow(to octets: Int, onRelease: @escaping @Sendable () -> Void) -> Bool {
            budget.state.withLock { state in
                if budget.grow(ticket, to: octets, in: &state) { return true }
                state.waiting[state.nextTicket()] = onRelease
                return false
            }
        }

        deinit { budget.giveBack { $0.free += $0.arrivals.removeValue(forKey: ticket)?.octets ?? 0 } }
    }

    private func grow(_ ticket: UInt64, to octets: Int, in state: inout State) -> Bool {
        guard let arrival = state.arrivals[ticket] else { return false }
        let more = octets - arrival.octets
        guard more > 0 else { return true }
        // The longest request fits even into less memory than it needs.
        let isAlone = state.free + arrival.octets == capacity
        guard isAlone || more <= state.free else { return false }
        state.arrivals[ticket]?.octets = octets
        guard isAlone || state.isSafe(capacity) else {
            state.arrivals[ticket] = arrival
            return false
        }
        state.free -= more
        return true
    }

    /// Whether some caller waits for room.
    package var isWanted: Bool { state.withLock { !$0.waiting.isEmpty } }

    /// Waits for room; nil if the task was cancelled.
    func reserveWhenFree(_ octets: Int) async -> Reservation? {
        while !Task.isCancelled {
            if let reservation = reserve(octets) { return reservation }
            await waitForRelease(of: octets)
        }
        return nil
    }

    private func waitForRelease(of octets: Int) async {
        let ticket = state.withLock { $0.nextTicket() }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let mustWait = state.withLock { state in
                    guard state.free < octets, !Task.isCancelled else { return false }
                    state.waiting[ticket] = { continuation.resume() }
                    return true
                }
                if !mustWait { continuation.resume() }
            }
        } onCancel: {
            state.withLock { $0.waiting.removeValue(forKey: ticket) }?()
        }
    }

    private func giveBack(_ release: (inout State) -> Void) {
        let waiting = state.withLock { state in
            release(&state)
            guard !state.waiting.isEmpty else { return [:] as [UInt64: @Sendable () -> Void] }
            defer { state.waiting = [:] }
            return state.waiting
        }
        guard !waiting.isEmpty else { return }
        for ticket in waiting.keys.sorted() { waiting[ticket]?() }
    }
}
