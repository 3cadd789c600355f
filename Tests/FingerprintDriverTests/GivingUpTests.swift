import FingerprintDriver
import KeychainModel
import Synchronization
import Testing
import TouchstoneTesting

/// A caller that gives up tells fprintd so, which may have judged a touch meanwhile: `VerifyStop` says nothing of it,
/// only the order on the bus does.
@Suite("Giving up a verification")
struct GivingUpTests {
    /// What came of a verification that was given up.
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

    @Test("before anybody touched the sensor is a cancellation, and so is fprintd's own end of it")
    func orderly() async throws {
        #expect(try await giveUp(.init()) == End(error: .cancelled))
        // fprintd says so of every verification that it cancels.
        #expect(try await giveUp(.init(stopped: [.noMatch])) == End(error: .cancelled))
    }

    @Test("after the sensor judged, but before fprintd heard of it, is that verdict")
    func judged() async throws {
        #expect(try await giveUp(.init(asked: [.noMatch])) == End(verdict: .noMatch))
        #expect(try await giveUp(.init(asked: [.match])) == End(verdict: .match))
        #expect(try await giveUp(.init(asked: [.noMatch], stopped: [.noMatch])) == End(verdict: .noMatch))
        let unplugged = ScriptedFprintd.Event.status("verify-disconnected", done: true)
        #expect(try await giveUp(.init(asked: [unplugged])) == End(error: .disconnected))
    }

    @Test("while a finger is on the sensor tells of it")
    func touched() async throws {
        let contact = ScriptedFprintd.Event.fingerPresent(true)
        let poor = ScriptedFprintd.Event.status("verify-retry-scan", done: false)
        let cancelled = End(error: .cancelled, hadContact: true)
        #expect(try await giveUp(.init(asked: [contact], stopped: [.noMatch])) == cancelled)
        #expect(try await giveUp(.init(stopped: [contact, .noMatch])) == cancelled)
        #expect(try await giveUp(.init(asked: [poor])) == cancelled)
    }

    @Test("that fprintd does not confirm is no cancellation: nobody knows what was judged")
    func unconfirmed() async throws {
        let refused = try await giveUp(.init()) { $0.errors = ["VerifyStop": "NoActionInProgress"] }
        #expect(refused == End(error: .init(rawValue: "NoActionInProgress")))
        let silent = try await giveUp(.init()) { $0.silentMethods = ["VerifyStop"] }
        #expect(silent == End(error: .noReply))
    }

    @Test("between two fingers of a sensor that compares leaves the one that refused")
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

    // Without an order, one of two of these would be lost.
    @Test("at the very moment of a mismatch never loses the mismatch")
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
            // Once it is sent, it was judged before fprintd can hear of anything that follows.
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
