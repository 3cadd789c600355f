@_spi(AuthenticationEngine) import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import Desk

/// Proofs of a context whose number says how long they count: before its end, at it and after it, for requests that began
/// before or after, in this boot and another, beside contexts without a time.
@Suite("Contexts whose time ends")
struct ContextTimeTests {
    private let clock = StandingClock()
    private let table: ContextTable

    init() {
        table = ContextTable(
            visit: 1,
            limits: DeskLimits(longestRequest: Frame.longest),
            budget: LockedMemoryBudget(octets: 4096),
            clock: clock
        )
    }

    private func proof(in context: ContextID) -> AuthenticationProof {
        AuthenticationProof(
            factors: [.passcode],
            satisfied: [.devicePasscode],
            operation: nil,
            time: clock.now(),
            context: context,
            passcodeKey: nil,
            isOfWeakSensor: false
        )
    }

    private func count(_ context: ContextID, for request: UInt64? = nil) throws -> Int {
        try table.authorization(of: context, for: request).proofs.count
    }

    @Test("a proof counts until the end of the time, and another one for a time of its own")
    func end() throws {
        let context = try table.enter(ContextLifetime.number(1, lasting: .seconds(5)), request: 1)
        try table.add(proof(in: context), to: context)
        table.leave(context, request: 1)
        clock.advance(by: .milliseconds(4999))
        #expect(try count(context) == 1)
        try table.add(proof(in: context), to: context)
        #expect(try count(context) == 2)
        clock.advance(by: .milliseconds(1))
        #expect(try count(context) == 1)
        clock.advance(by: .seconds(5))
        #expect(try count(context) == 0)
        let later = try table.enter(context.number, request: 2)
        #expect(try count(later, for: 2) == 0)
        table.leave(later, request: 2)
        #expect(table.count == 0, "an empty context is not kept")
    }

    @Test(
        "a request that began before the end keeps its proofs to its own end, and no other request has them"
    )
    func running() throws {
        let context = try table.enter(ContextLifetime.number(1, lasting: .milliseconds(1)), request: 1)
        clock.advance(by: .seconds(60))
        // The prompt's own request, after a long prompt.
        try table.add(proof(in: context), to: context)
        clock.advance(by: .seconds(60))
        #expect(try count(context, for: 1) == 1)
        _ = try table.enter(context.number, request: 2)
        #expect(try count(context, for: 2) == 0)
        #expect(try count(context) == 0)
        table.leave(context, request: 2)
        #expect(try count(context, for: 1) == 1)
        table.leave(context, request: 1)
        #expect(table.count == 0)
    }

    @Test("without a time proofs count as long as the context exists, also for the daemon's own contexts")
    func endless() throws {
        let endless = try table.enter(ContextLifetime.number(7, lasting: .zero), request: 1)
        let own = try table.enter(nil, request: 1 << 41)
        for context in [endless, own] { try table.add(proof(in: context), to: context) }
        clock.advance(by: .seconds(86_400))
        #expect(try count(endless) == 1 && count(own) == 1)
    }

    @Test("more time is another context, without proofs")
    func extended() throws {
        let short = try table.enter(ContextLifetime.number(1, lasting: .seconds(5)), request: 1)
        try table.add(proof(in: short), to: short)
        for time in [Duration.seconds(300), .zero, .seconds(4)] {
            let other = try table.enter(ContextLifetime.number(1, lasting: time), request: 2)
            #expect(try count(other, for: 2) == 0)
        }
    }

    @Test("what a proof holds is wiped in time also if nothing happens to the context")
    func wiped() async throws {
        let machine = ContextTable(
            visit: 1,
            limits: DeskLimits(longestRequest: Frame.longest),
            budget: LockedMemoryBudget(octets: 4096),
            clock: SystemBootClock()
        )
        let context = try machine.enter(ContextLifetime.number(1, lasting: .milliseconds(20)), request: 1)
        var key: PasscodeKey? = PasscodeKey(SecretBytes(copying: [UInt8](repeating: 7, count: 32)))
        weak let held = key
        try machine.add(
            AuthenticationProof(
                factors: [.passcode],
                satisfied: [.devicePasscode],
                operation: nil,
                time: SystemBootClock().now(),
                context: context,
                passcodeKey: key,
                isOfWeakSensor: false
            ),
            to: context
        )
        key = nil
        machine.leave(context, request: 1)
        try await Deadline.wait(for: "the end of the key") { held == nil ? true : nil }
    }

    @Test("of many ended contexts the oldest numbers are forgotten first, whatever their times")
    func forgotten() throws {
        for counter: UInt64 in 1...(1 << 16) {
            let time = Duration.milliseconds(Int64(counter.isMultiple(of: 2) ? 1 : 300_000))
            _ = table.invalidate(ContextLifetime.number(counter, lasting: time))
        }
        _ = table.invalidate(ContextLifetime.number(1 << 17, lasting: .milliseconds(1)))
        // The oldest one is a new context now; the second oldest is still refused.
        _ = try table.enter(ContextLifetime.number(1, lasting: .milliseconds(300_000)), request: 1)
        #expect(throws: KeychainError(.authFailed)) {
            try table.enter(ContextLifetime.number(2, lasting: .milliseconds(1)), request: 1)
        }
    }
}
