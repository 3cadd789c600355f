import Foundation
import KeychainModel
import Synchronization
import Testing

@testable import KeychainClient

@Suite("Locked memory for large secrets")
struct LockedRoomTests {
    private static let large = 900_000

    @Test("requests wait for locked memory in order, and all get it")
    func order() throws {
        let room = LockedRoom(allowed: { 4 * Self.large })
        let held = Mutex<LockedRoom.Reservation?>(try room.reserve(4 * Self.large))
        let most = Mutex(0)
        let done = DispatchGroup()
        for _ in 0..<9 {
            done.enter()
            Thread.detachNewThread {
                let mine = try? room.reserve(Self.large, patience: .seconds(60))
                most.withLock { $0 = max($0, room.used) }
                usleep(2000)
                #expect(mine != nil)
                withExtendedLifetime(mine) {}
                done.leave()
            }
        }
        usleep(20_000)
        #expect(most.withLock { $0 } == 0, "nobody goes before there is room")
        held.withLock { $0 = nil }
        done.wait()
        #expect(most.withLock { $0 } <= 4 * Self.large)
        // A thread may release its reservation only after it signalled the end.
        let deadline = ContinuousClock.now + .seconds(60)
        while room.used != 0, .now < deadline { usleep(1000) }
        #expect(room.used == 0)
    }

    @Test("waiting for locked memory ends with errSecAllocate, and the next request gets it once it is free")
    func patience() throws {
        let room = LockedRoom(allowed: { 1 << 20 })
        var held: LockedRoom.Reservation? = try room.reserve(1 << 20)
        #expect(throws: KeychainError(.allocate)) {
            try room.reserve(Self.large, patience: .milliseconds(50))
        }
        let cancellation = Cancellation()
        cancellation.cancel()
        #expect(throws: KeychainError(AuthenticationError(.appCancel))) {
            try room.reserve(Self.large, patience: .seconds(60), cancellation: cancellation)
        }
        withExtendedLifetime(held) {}
        held = nil
        _ = try room.reserve(Self.large, patience: .zero)
        #expect(room.used == 0)
    }

    @Test("a request larger than the limit is granted if it is the only one")
    func alone() throws {
        let room = LockedRoom(allowed: { 0 })
        let one = try room.reserve(Self.large, patience: .zero)
        #expect(throws: KeychainError(.allocate)) { try room.reserve(Self.large, patience: .zero) }
        // Small secrets use separate memory.
        _ = try room.reserve(100, patience: .zero)
        withExtendedLifetime(one) {}
    }
}
