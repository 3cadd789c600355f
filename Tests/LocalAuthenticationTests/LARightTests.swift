import Foundation
import KeychainClient
import KeychainModel
import LocalAuthentication
import ScriptedDaemon
import Security
import Synchronization
import Testing

@Suite("LARight")
struct LARightTests {
    private static func right(
        _ daemon: ScriptedDaemon,
        _ requirement: LAAuthenticationRequirement = .default
    ) -> LARight {
        KeychainConnection.$current.withValue(daemon.keychain) { LARight(requirement: requirement) }
    }

    /// A peer that answers evaluations by the script, and forgets contexts.
    private static func daemon(
        _ evaluation: @escaping @Sendable (EvaluatePolicy) -> ScriptedDaemon.Answer
    ) throws -> ScriptedDaemon {
        try ScriptedDaemon { head, reader in
            guard head.method == .evaluatePolicy else {
                _ = try ContextNumber(from: &reader)
                return .body(EmptyBody())
            }
            return evaluation(try EvaluatePolicy(from: &reader))
        }
    }

    private static let success = ScriptedDaemon.Answer.body(
        EvaluationReply(factors: [.biometry], domainState: nil)
    )

    /// The error that `authorize` throws; nil if it succeeds.
    private static func failure(_ right: LARight, reason: String = "test") async -> LAError? {
        do {
            try await right.authorize(localizedReason: reason)
            return nil
        } catch {
            return error as? LAError
        }
    }

    @Test("the state goes from unknown to authorized and back to not authorized")
    func life() async throws {
        let asked = Mutex<[EvaluatePolicy]>([])
        let daemon = try Self.daemon { request in
            asked.withLock { $0.append(request) }
            return Self.success
        }
        let right = Self.right(daemon)
        #expect(right.state == .unknown)
        try await right.authorize(localizedReason: "open the safe")
        #expect(right.state == .authorized)
        #expect(asked.withLock { $0.map(\.prompt.reason) } == ["open the safe"])
        #expect(asked.withLock { $0.map(\.reuseSeconds) } == [0])
        await right.deauthorize()
        #expect(right.state == .notAuthorized)
        #expect(daemon.requested == [.evaluatePolicy, .invalidateContext])
        try await right.authorize(localizedReason: "open it again")
        #expect(right.state == .authorized)
        let contexts = asked.withLock { $0.map(\.context) }
        #expect(Set(contexts).count == 2, "what was shown before does not count again")
    }

    @Test(
        "the request has the factors of the right's requirement",
        arguments: [
            (LAAuthenticationRequirement.default, 2), (.biometry, 1), (.biometryCurrentSet, 1),
            (.biometry(fallback: .default), 2), (.biometry(fallback: .devicePasscode), 2),
        ] as [(LAAuthenticationRequirement, Int64)]
    )
    func requirements(_ requirement: LAAuthenticationRequirement, policy: Int64) async throws {
        let asked = Mutex<[Int64]>([])
        let daemon = try Self.daemon { request in
            asked.withLock { $0.append(request.policy) }
            return Self.success
        }
        #expect(await Self.failure(Self.right(daemon, requirement)) == nil)
        #expect(asked.withLock { $0 } == [policy])
    }

    @Test("a refusal leaves the right unauthorized, whatever was shown before")
    func refusal() async throws {
        let refuses = Mutex(false)
        let daemon = try Self.daemon { _ in
            guard refuses.withLock({ $0 }) else { return Self.success }
            return .failure(KeychainError(AuthenticationError(.userCancel)))
        }
        let right = Self.right(daemon)
        #expect(await Self.failure(right) == nil)
        refuses.withLock { $0 = true }
        #expect(await Self.failure(right)?.code == .userCancel)
        #expect(right.state == .notAuthorized)
        #expect(await Self.failure(right, reason: "")?.errorCode == -1001)
        #expect(right.state == .notAuthorized)
    }

    @Test("concurrent calls share one prompt")
    func together() async throws {
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let gate = DispatchSemaphore(value: 0)
        let daemon = try Self.daemon { _ in
            ask.yield()
            gate.wait()
            return Self.success
        }
        let right = Self.right(daemon)
        let first = Task { await Self.failure(right) }
        for await _ in asked { break }
        #expect(right.state == .authorizing)
        let ends = Mutex(0)
        let (told, tell) = AsyncStream<Void>.makeStream()
        right.authorize(localizedReason: "the same") { error in
            #expect(error == nil)
            ends.withLock { $0 += 1 }
            tell.yield()
        }
        gate.signal()
        #expect(await first.value == nil)
        for await _ in told { break }
        #expect(ends.withLock { $0 } == 1)
        #expect(daemon.requested == [.evaluatePolicy])
    }

    @Test("a right deauthorized during the prompt ends with appCancel and stays unauthorized")
    func givenUp() async throws {
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let daemon = try Self.daemon { _ in
            ask.yield()
            return .hold
        }
        let right = Self.right(daemon)
        let end = Task { await Self.failure(right) }
        for await _ in asked { break }
        await right.deauthorize()
        #expect(await end.value?.code == .appCancel)
        #expect(right.state == .notAuthorized)
    }

    @Test("cancelling the task dismisses the prompt")
    func cancellation() async throws {
        let (asked, ask) = AsyncStream<Void>.makeStream()
        let daemon = try Self.daemon { _ in
            ask.yield()
            return .hold
        }
        let right = Self.right(daemon)
        let task = Task { await Self.failure(right) }
        for await _ in asked { break }
        task.cancel()
        #expect(await task.value?.code == .appCancel)
        #expect(right.state == .notAuthorized)
        try await Eventually.holds { daemon.requested.contains(.cancel) }
    }

    @Test("releasing a right deauthorizes it")
    func dropped() async throws {
        let daemon = try Self.daemon { _ in Self.success }
        var right: LARight? = Self.right(daemon)
        try await right?.authorize(localizedReason: "test")
        right = nil
        try await Eventually.holds { daemon.requested == [.evaluatePolicy, .invalidateContext] }
    }

    @Test("checkCanAuthorize reports why a right cannot be authorized")
    func check() async throws {
        let obstacle = Mutex<AuthenticationError?>(nil)
        let asked = Mutex<[Int64]>([])
        let daemon = try ScriptedDaemon { head, reader in
            guard head.method == .canEvaluatePolicy else {
                _ = try ContextNumber(from: &reader)
                return .body(EmptyBody())
            }
            let policy = try CanEvaluatePolicy(from: &reader).policy
            asked.withLock { $0.append(policy) }
            let error = obstacle.withLock { $0 }
            return .body(
                AvailabilityReply(
                    AuthenticationAvailability(error: error, hasSensor: true, domainState: nil)
                )
            )
        }
        let right = Self.right(daemon, .biometry)
        try await right.checkCanAuthorize()
        #expect(right.state == .unknown)
        obstacle.withLock { $0 = AuthenticationError(.biometryLockout) }
        await #expect(throws: LAError.self) { try await right.checkCanAuthorize() }
        do {
            try await right.checkCanAuthorize()
        } catch LAError.biometryLockout {
            #expect(asked.withLock { $0 } == [1, 1, 1])
        }
    }

    @Test("the app's tag is kept")
    func tag() throws {
        let right = Self.right(try Self.daemon { _ in Self.success })
        #expect(right.tag == 0)
        right.tag = 7
        #expect(right.tag == 7)
    }

    @Test("equal requirements compare as equal")
    func equality() {
        #expect(LAAuthenticationRequirement.default == .default)
        #expect(LAAuthenticationRequirement.biometry != .biometryCurrentSet)
        #expect(LAAuthenticationRequirement.biometry(fallback: .default) == .default)
        #expect(LAAuthenticationRequirement.biometry(fallback: .devicePasscode) != .default)
        #expect(LABiometryFallbackRequirement.default != .devicePasscode)
        #expect(LARight.State(rawValue: 2) == .authorized)
    }
}
