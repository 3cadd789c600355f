import FingerprintDriver
import KeychainModel
import Synchronization
import Testing
import TouchstoneTesting

/// A cancelled verification calls `VerifyStop`, while fprintd may have judged a touch.
///
/// The reply to `VerifyStop` does not say so; only the order of messages on the bus does.
@Suite("Cancelling a verification")
struct GivingUpTests {
    /// The result of a cancelled verification.
    private struct End: Equatable {
        var verdict: FingerprintVerdict?
        var error: FingerprintError.Code?
        var hadContact = false
    }

    private func giveUp(
        _ verification: ScriptedFprintd.Verification,
        fingers: [String] = ["right-index-finger"],
        _ adjust: @Sendable (inout ScriptedFprintd.Script) -> Void = { _ in }
    ) async throws -> End {
        let bus = try await PrivateBus.start(sensors: [])
        var script = ScriptedFprintd.Script(
            sensors: [.init(fingers: fingers)],
            verifications: [verification]
        )
        adjust(&script)
        let fprintd = try await ScriptedFprintd.start(on: bus, script)
        let reader = FprintReader(
            busAddress: bus.busAddress,
            templateDirectory: nil,
            callTimeout: .seconds(3)
        )
        let claim = try await reader.claim()
        let heard = HeardStatuses()
        let task = Task { try await claim.verify { heard.hear($0) } }
        try await heard.wait(for: .armed)
        task.cancel()
        var end = End()
        do {
            end.verdict = try await task.value
        } catch {
            end.error = (error as? FingerprintError)?.code
        }
        end.hadContact = heard.all.contains { $0 != .armed }
        await claim.release()
        #expect(fprintd.calls == ["Claim", "VerifyStart any", "VerifyStop", "Release"])
        await bus.stop()
        return end
    }

    @Test("before any touch it is a cancellation, also if fprintd reports its own end of the verification")
    func orderly() async throws {
        #expect(try await giveUp(.init()) == End(error: .cancelled))
        // fprintd reports this for every verification that it cancels.
        #expect(try await giveUp(.init(stopped: [.noMatch])) == End(error: .cancelled))
    }

    @Test("after the sensor's judgement, but before fprintd received the cancellation, it is that verdict")
    func judged() async throws {
        #expect(try await giveUp(.init(asked: [.noMatch])) == End(verdict: .noMatch))
        #expect(try await giveUp(.init(asked: [.match])) == End(verdict: .match))
        #expect(try await giveUp(.init(asked: [.noMatch], stopped: [.noMatch])) == End(verdict: .noMatch))
        let unplugged = ScriptedFprintd.Event.status("verify-disconnected", done: true)
        #expect(try await giveUp(.init(asked: [unplugged])) == End(error: .disconnected))
    }

    @Test("with a finger on the sensor the contact is reported")
    func touched() async throws {
        let contact = ScriptedFprintd.Event.fingerPresent(true)
        let poor = ScriptedFprintd.Event.status("verify-retry-scan", done: false)
        let cancelled = End(error: .cancelled, hadContact: true)
        #expect(try await giveUp(.init(asked: [contact], stopped: [.noMatch])) == cancelled)
        #expect(try await giveUp(.init(stopped: [contact, .noMatch])) == cancelled)
        #expect(try await giveUp(.init(asked: [poor])) == cancelled)
    }

    @Test("without fprintd's confirmation it is an error, not a cancellation: a verdict may be missing")
    func unconfirmed() async throws {
        let refused = try await giveUp(.init()) { $0.errors = ["VerifyStop": "NoActionInProgress"] }
        #expect(refused == End(error: .init(rawValue: "NoActionInProgress")))
        let silent = try await giveUp(.init()) { $0.silentMethods = ["VerifyStop"] }
        #expect(silent == End(error: .noReply))
    }

    @Test("between two fingers of a verifying sensor the last verdict is kept")
    func comparing() async throws {
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(
            on: bus,
            .init(
                sensors: [.init(fingers: ["left-thumb", "right-thumb"])],
                verifications: [.init([.fingerSelected("left-thumb"), .noMatch]), .init()]
            )
        )
        let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: nil)
        let claim = try await reader.claim()
        let heard = HeardStatuses()
        let task = Task { try await claim.verify { heard.hear($0) } }
        try await fprintd.waitUntilCalled("VerifyStart right-thumb")
        task.cancel()
        #expect(try await task.value == .noMatch)
        await claim.release()
        await bus.stop()
    }

    // Without an order of messages either the mismatch or the cancellation would be lost.
    @Test("a cancellation at the moment of a mismatch never loses the mismatch")
    func race() async throws {
        let rounds = CaseSize.of(40, full: 2000)
        let bus = try await PrivateBus.start(sensors: [])
        let fprintd = try await ScriptedFprintd.start(
            on: bus,
            .init(verifications: Array(repeating: .init(stopped: [.noMatch]), count: rounds))
        )
        let reader = FprintReader(busAddress: bus.busAddress, templateDirectory: nil)
        var cancelled = 0
        for round in 0..<rounds {
            let claim = try await reader.claim()
            let heard = HeardStatuses()
            let task = Task { try await claim.verify { heard.hear($0) } }
            try await heard.wait(for: .armed)
            // Once the signal is sent, the judgement precedes anything that fprintd receives afterwards.
            try await fprintd.announce(ScriptedFprintd.Event.noMatch)
            for _ in 0..<(round % 8) { await Task.yield() }
            task.cancel()
            if (try? await task.value) != FingerprintVerdict.noMatch { cancelled += 1 }
            await claim.release()
        }
        #expect(cancelled == 0, "of \(rounds)")
        await bus.stop()
    }
}
