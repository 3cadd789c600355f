import Foundation
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Changes reported by the daemon", .timeLimit(.minutes(20)))
struct ChangeTests {
    /// Queries until the daemon reports changes and the answer is cached.
    private func warm(_ world: World, _ demand: Authenticators = .strongBiometry) async throws -> Capability {
        _ = try await Keychain.current.capability(for: demand)
        let question = ChangeWatch.Question(
            demand: demand,
            origin: KeychainLink.current.origin
        )
        return try await Deadline.wait(for: "a kept answer") {
            _ = try await Keychain.current.capability(for: demand)
            return ChangeWatch.of(world.keychain.client).answer(to: question)
        }
    }

    @Test("a cached capability is returned without the daemon, even while that is stopped")
    func warm() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let answers = Guarded(0)
            try await Deadline.wait(for: "an answer without the daemon") {
                let before = try await warm(world)
                let daemon = world.keychain.processID
                answers.withLock { $0 = 0 }
                kill(daemon, SIGSTOP)
                let task = Task {
                    for _ in 0..<1000 {
                        guard try await Keychain.current.capability() == before else { return }
                        answers.withLock { $0 += 1 }
                    }
                }
                let isDone: Bool? = try? await Deadline.wait(for: "the answers", atMost: .seconds(5)) {
                    answers.withLock(\.self) == 1000 ? true : nil
                }
                kill(daemon, SIGCONT)
                try await task.value
                // A cached answer is valid for at most ten seconds, which may just have ended.
                return isDone
            }
            #expect(answers.withLock(\.self) == 1000)
        }
        #expect(world.prompts == 0)
    }

    @Test("changes are visible in the next answer: enrolment, lock, unlock, a lockout and its end")
    func changes() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let told = Guarded<Set<KeychainChange.Kind>>([])
            let stop = ChangeWatch.listen(to: world.keychain.client) { happening in
                guard case .changes(let changes) = happening else { return }
                told.withLock { $0.formUnion(changes.changes.map(\.kind)) }
            }
            defer { stop() }
            /// Waits for an answer, and for the change that the daemon reports.
            func wait(
                for what: String,
                _ kind: KeychainChange.Kind,
                _ isSo: (Capability) -> Bool
            ) async throws {
                try await Deadline.wait(for: "the word of \(what)") {
                    told.withLock { $0.contains(kind) } ? true : nil
                }
                try await Deadline.wait(for: what) {
                    isSo(try await Keychain.current.capability()) ? true : nil
                }
                told.withLock { $0 = [] }
            }
            #expect(try await warm(world).sensor?.enrolledCount == 1)
            try await world.enrol(["right-index-finger", "left-thumb"])
            try await wait(for: "a second finger", .enrolment) { $0.sensor?.enrolledCount == 2 }

            // After an enrolment change the passcode is required.
            _ = try await Keychain.current.authenticate("a test", using: .passcode)
            try await Deadline.wait(for: "the passcode") {
                try await Keychain.current.capability().obstacle == nil ? true : nil
            }
            _ = try await warm(world)
            try world.keychain.client.lock()
            try await wait(for: "the lock", .locked) { $0.obstacle?.code == .lockedOutUntilPasscode }
            _ = try await warm(world)
            try world.keychain.unlock()
            try await wait(for: "the unlocking", .unlocked) { $0.obstacle == nil }

            _ = try await warm(world)
            // Five mismatches, several of them in one prompt.
            world.fprintd?.change { $0.verifications = Array(repeating: .init([.noMatch]), count: 10) }
            try world.keychain.tellPerson(Array(repeating: .waits, count: 5))
            for _ in 0..<5 where try !world.keychain.client.status().authentication.isBiometryLockedOut {
                _ = try? await Keychain.current.authenticate("a test")
            }
            try await wait(for: "the lockout", .lockout) { $0.obstacle?.code == .lockedOutUntilPasscode }
            _ = try await warm(world)
            try world.keychain.tellPerson([])
            _ = try await Keychain.current.authenticate("a test", using: .passcode)
            try await wait(for: "its end", .lockoutEnd) { $0.obstacle == nil }
        }
    }

    @Test("a capability stream yields each change of enrolment, sensor and daemon")
    func stream() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let seen = Guarded<[Capability]>([])
            let stream = Keychain.current.capabilities()
            let task = Task {
                for await now in stream { seen.withLock { $0.append(now) } }
            }
            func wait(for what: String, _ isSo: (Capability) -> Bool) async throws {
                do {
                    try await Deadline.wait(for: what) {
                        seen.withLock { $0.last.map(isSo) == true ? true : nil }
                    }
                } catch {
                    Issue.record("\(what): \(seen.withLock(\.self))")
                }
            }
            try await wait(for: "the first") { $0.obstacle == nil && $0.sensor?.enrolledCount == 1 }
            world.fprintd?.change { $0.sensors[0].fingers = [] }
            try await wait(for: "no finger") { $0.obstacle?.code == .notEnrolled }
            world.fprintd?.change { $0.sensors[0].fingers = ["right-index-finger"] }
            try await wait(for: "a finger") { $0.sensor?.enrolledCount == 1 }
            world.fprintd?.change { $0.sensors = [] }
            try await wait(for: "no sensor") { $0.obstacle?.code == .disconnected && $0.sensor == nil }
            world.fprintd?.change { $0.sensors = [.init()] }
            try await wait(for: "a sensor") { $0.sensor != nil }
            world.keychain.stop(with: SIGTERM)
            try await wait(for: "no daemon") { $0.obstacle?.code == .serviceMissing }
            try await world.keychain.start()
            try await wait(for: "a daemon") { $0.obstacle?.code == .lockedOutUntilPasscode }
            task.cancel()
            await task.value
            let all = seen.withLock(\.self)
            #expect(zip(all, all.dropFirst()).allSatisfy { $0 != $1 }, "each answer is another one")
        }
    }

    @Test(
        "changes of lockout, enrolment, assurance and store are security events; lock and unlock are not"
    )
    func kinds() {
        let expected: [KeychainChange.Kind: SecurityEvent.Kind] = [
            .enrolment: .enrolmentChanged, .lockout: .lockout, .invalidated: .invalidated,
            .assurance: .assuranceChanged, .tampering: .rolledBack,
        ]
        for kind in KeychainChange.Kind.allCases {
            let event = SecurityEvent(KeychainChange(kind, time: 1_700_000_000_500_000))
            #expect(event?.kind == expected[kind])
            if let event { #expect(event.time == Date(timeIntervalSince1970: 1_700_000_000.5)) }
        }
    }
}
