import SecretMemory
import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Touches that miss", .timeLimit(.minutes(20)))
struct MissTests {
    @Test("the callback and the stream get each miss of this process's prompts, before the call returns")
    func told() async throws {
        let world = try await World.withFinger()
        try await world.use {
            try world.touches(resulting: ["verify-finger-not-centered", "verify-no-match", "verify-match"])
            let called = Guarded<[TouchMiss]>([])
            let stream = Keychain.current.misses()
            let proof = try await Keychain.current.authenticate(
                "Show your notes",
                onMiss: TouchMiss.Handler { miss in
                    called.withLock { $0.append(miss) }
                }
            )
            #expect(proof.method == .fingerprint)
            let expected =
                World.tellsMisses
                ? [
                    TouchMiss(count: 1, reason: .offCentre), TouchMiss(count: 2, reason: .noMatch),
                ] : []
            #expect(called.withLock(\.self) == expected)
            var read: [TouchMiss] = []
            var misses = stream.makeAsyncIterator()
            while read.count < expected.count, let miss = await misses.next() { read.append(miss) }
            #expect(read == expected)
            // On Apple's systems the stream has ended without elements.
            if !World.tellsMisses { #expect(await misses.next() == nil) }
        }
    }

    @Test("a prompt for the passcode, and one that is cancelled before any touch, tell none")
    func none() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let called = Guarded<[TouchMiss]>([])
            _ = try await Keychain.current.authenticate(
                "a test",
                using: .passcode,
                onMiss: TouchMiss.Handler { miss in
                    called.withLock { $0.append(miss) }
                }
            )
            try world.cancels()
            await #expect(throws: TouchstoneError(.userCancelled)) {
                try await Keychain.current.authenticate(
                    "a test",
                    onMiss: TouchMiss.Handler { miss in
                        called.withLock { $0.append(miss) }
                    }
                )
            }
            #expect(called.withLock(\.self).isEmpty)
        }
    }
}
