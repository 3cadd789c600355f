import Foundation
import KeychainModel
import Synchronization
import Testing

@testable import KeychainClient

@Suite("Room for large secrets")
struct LockedRoomTests {
    private static let large = 900_000

    @Test("is waited for in the order of the requests, and all get theirs")
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
        // A thread may let go of its room only after it said that it is done.
        let deadline = ContinuousClock.now + .seconds(60)
        while room.used != 0, .now < deadline { usleep(1000) }
        #expect(room.used == 0)
    }

    @Test("that others hold is errSecAllocate after a while, and the next one gets it")
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

    @Test("is granted to one request alone, where it needs more than there is")
    func alone() throws {
        let room = LockedRoom(allowed: { 0 })
        let one = try room.reserve(Self.large, patience: .zero)
        #expect(throws: KeychainError(.allocate)) { try room.reserve(Self.large, patience: .zero) }
        // What is small has a place of its own.
        _ = try room.reserve(100, patience: .zero)
        withExtendedLifetime(one) {}
    }
}
