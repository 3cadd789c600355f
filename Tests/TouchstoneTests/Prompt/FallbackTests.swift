import Testing
import TouchstoneTesting

@testable import Touchstone

@Suite("Named fallbacks", .timeLimit(.minutes(20)))
struct FallbackTests {
    @Test("the chosen fallback is part of the error: one, the last of four, and the system's own")
    func chosen() async throws {
        let world = try await World.withFinger()
        try await world.use {
            var prompt: PromptText = "Pay"
            for (fallbacks, index) in [(["Card"], 0), (["Card", "Code", "Call", "Letter"], 3)] {
                guard fallbacks.count == 1 || World.namesFallbacks else { continue }
                prompt.fallbacks = fallbacks
                if fallbacks.count > 1 { try world.choosesFallback(index) }
                let error = await failure { () throws(TouchstoneError) in
                    try await Keychain.current.authenticate(prompt)
                }
                #expect(error == .fallbackChosen && error?.fallbackIndex == index)
                #expect(error?.nextStep == .usePasscode)
            }
            prompt.fallbacks = nil
            let error = await failure { () throws(TouchstoneError) in
                try await Keychain.current.authenticate(prompt)
            }
            #expect(error == .fallbackChosen && error?.fallbackIndex == nil)
        }
    }

    @Test("without fallbacks there is no button, and cancelling one of several pages is a cancellation")
    func none() async throws {
        let world = try await World.withFinger()
        try await world.use {
            var prompt: PromptText = "Pay"
            prompt.fallbacks = []
            await #expect(throws: TouchstoneError(.userCancelled)) {
                try await Keychain.current.authenticate(prompt)
            }
            guard World.namesFallbacks else { return }
            prompt.fallbacks = ["Card", "Code"]
            try world.keychain.tellPerson([.usual, .next, .cancels])
            let error = await failure { () throws(TouchstoneError) in
                try await Keychain.current.authenticate(prompt)
            }
            #expect(error == .userCancelled && error?.fallbackIndex == nil)
        }
    }
}
