import Glibc
import SecretMemory

/// The locked memory of a desk.
package struct LockedMemory: Sendable {
    /// For received requests and for the secrets of requests and replies; the longest request always fits.
    package let requests: LockedMemoryBudget
    /// For the application passwords of contexts.
    let passwords: LockedMemoryBudget

    init(_ limits: DeskLimits) {
        let largest = LockedMemoryBudget.cost(ofRequest: limits.longestRequest)
        requests = LockedMemoryBudget(octets: max(limits.lockedOctets, largest))
        passwords = LockedMemoryBudget(octets: limits.passwordOctets)
    }
}

/// The locked memory that all visits together may hold.
///
/// `RLIMIT_MEMLOCK` is 8 MiB for an ordinary user, and a failure to lock memory ends the process: so room is reserved
/// here before a request is received and before items are opened, and callers wait until there is some.
package final class LockedMemoryBudget: Sendable {
    /// The memory of the arena of small blocks, the spare regions and the keys, which is not charged to requests.
    private static let reserved = LockedPages.arenaByteCount + LockedPages.spareByteCount + (192 << 10)
    /// The charge for a request that fits into the buffer a door has for each visit anyway.
    private static let smallest = 4096
    /// The charge for a page of items while its size is unknown: the items and the reply made of them.
    static let pageCost = 2 << 20

    private struct State {
        var free: Int
        var waiting: [UInt64: @Sendable () -> Void] = [:]
        var lastTicket: UInt64 = 0
    }
    private let state: Guarded<State>
    private let capacity: Int

    init(octets: Int) {
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

    /// The charge for a request of `length` bytes: held once as received, once for its secret, and once while it is
    /// stored.
    package static func cost(ofRequest length: Int) -> Int { length <= smallest ? smallest : 3 * length }

    /// Reserved memory, released with its last reference.
    package final class Reservation: Sendable {
        private let budget: LockedMemoryBudget
        private let octets: Int

        fileprivate init(_ budget: LockedMemoryBudget, octets: Int) {
            self.budget = budget
            self.octets = octets
        }

        deinit { budget.giveBack(octets) }
    }

    /// Reserves `octets` bytes; nil if there is no room: `onRelease` is then called once, when a retry may succeed.
    package func reserve(_ octets: Int, onRelease: (@Sendable () -> Void)? = nil) -> Reservation? {
        let isThere = state.withLock { state in
            if state.free >= octets || state.free == capacity {
                state.free -= octets
                return true
            }
            if let onRelease {
                state.lastTicket += 1
                state.waiting[state.lastTicket] = onRelease
            }
            return false
        }
        return isThere ? Reservation(self, octets: octets) : nil
    }

    /// Waits for room; nil if the task was cancelled.
    func reserveWhenFree(_ octets: Int) async -> Reservation? {
        while !Task.isCancelled {
            if let reservation = reserve(octets) { return reservation }
            await waitForRelease(of: octets)
        }
        return nil
    }

    private func waitForRelease(of octets: Int) async {
        let ticket = state.withLock { state in
            state.lastTicket += 1
            return state.lastTicket
        }
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

    private func giveBack(_ octets: Int) {
        let waiting = state.withLock { state in
            state.free += octets
            guard !state.waiting.isEmpty else { return [:] as [UInt64: @Sendable () -> Void] }
            defer { state.waiting = [:] }
            return state.waiting
        }
        guard !waiting.isEmpty else { return }
        for ticket in waiting.keys.sorted() { waiting[ticket]?() }
    }
}
