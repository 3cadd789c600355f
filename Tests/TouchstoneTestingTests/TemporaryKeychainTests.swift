import Foundation
import LocalAuthentication
import Security
import Testing
import TouchstoneTesting

@Suite("Temporary keychains", .serialized, .timeLimit(.minutes(10)))
struct TemporaryKeychainTests {
    @Test("an item is read with a finger, and the prompt names app and reason")
    func finger() async throws {
        let keychain = try await TemporaryKeychain()
        await keychain.use {
            #expect(NoteStore.add("s3cret") == errSecSuccess)
            #expect(keychain.prompts.isEmpty, "neither the set-up nor adding is a prompt of the app's")
            #expect(NoteStore.read("Read \"my\" sensor") == (errSecSuccess, "s3cret"))
        }
        #expect(keychain.prompts.count == 1)
        #expect(keychain.prompts.first?.reason.contains("sensor") == true)
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        #expect(keychain.prompts.first?.program.contains(program) == true)
    }

    @Test("each scripted action is used for one prompt, and afterwards the enrolled finger touches again")
    func deeds() async throws {
        let keychain = try await TemporaryKeychain(enrolled: [.first])
        try await keychain.use {
            #expect(NoteStore.add("s3cret", .biometryCurrentSet) == errSecSuccess)
            keychain.person(.cancels, .touches(.first))
            #expect(NoteStore.read().status == errSecUserCanceled)
            #expect(NoteStore.read().value == "s3cret")
            #expect(NoteStore.read().value == "s3cret")
            #expect(keychain.prompts.count == 3)
            let context = LAContext()
            context.localizedFallbackTitle = "Password"
            keychain.person(.choosesFallback, .typesPasscode)
            let fallback = await NoteStore.evaluate(.deviceOwnerAuthenticationWithBiometrics, context)
            #expect(fallback == .userFallback)
            #expect(await NoteStore.evaluate(.deviceOwnerAuthentication) == nil)
            #expect(keychain.prompts.count == 5)
            // A wrong finger touches until the sensor is locked out.
            keychain.person(.touches(.second))
            #expect(await NoteStore.evaluate(.deviceOwnerAuthenticationWithBiometrics) == .biometryLockout)
            #expect(keychain.prompts.count == 6, "five wrong touches are one prompt")
            try await keychain.enrol(.second)
            #expect(NoteStore.read().status == errSecItemNotFound, "the enrolled set changed")
        }
    }

    @Test("an ignored prompt is listed, and ends when its context is invalidated")
    func ignored() async throws {
        let keychain = try await TemporaryKeychain()
        await keychain.use {
            keychain.person(.ignores)
            let context = LAContext()
            async let outcome = NoteStore.evaluate(.deviceOwnerAuthenticationWithBiometrics, context)
            _ = try? await Deadline.wait(for: "the prompt") { keychain.prompts.isEmpty ? nil : true }
            context.invalidate()
            #expect(await outcome == .appCancel)
        }
    }

    @Test("advancing the clock ends the time in which an unlock can be reused")
    func clock() async throws {
        let clock = ManualClock()
        let keychain = try await TemporaryKeychain(clock: clock)
        await keychain.use {
            // A success with a finger can be reused for at most 300 s.
            let reusing = LAContext()
            reusing.touchIDAuthenticationAllowableReuseDuration = 300
            #expect(await NoteStore.evaluate(.deviceOwnerAuthenticationWithBiometrics, reusing) == nil)
            let again = LAContext()
            again.touchIDAuthenticationAllowableReuseDuration = 300
            #expect(await NoteStore.evaluate(.deviceOwnerAuthenticationWithBiometrics, again) == nil)
            #expect(keychain.prompts.count == 1)
            clock.advance(by: .seconds(301))
            let late = LAContext()
            late.touchIDAuthenticationAllowableReuseDuration = 300
            #expect(await NoteStore.evaluate(.deviceOwnerAuthenticationWithBiometrics, late) == nil)
            #expect(keychain.prompts.count == 2)
        }
    }

    @Test("without a reader the passcode is typed, and two keychains are independent")
    func noReader() async throws {
        let first = try await TemporaryKeychain(reader: nil),
            second = try await TemporaryKeychain(reader: nil)
        await first.use {
            #expect(NoteStore.add("one", .userPresence) == errSecSuccess)
            #expect(NoteStore.read().value == "one")
            #expect(
                await NoteStore.evaluate(.deviceOwnerAuthenticationWithBiometrics) == .biometryNotAvailable
            )
        }
        await second.use { #expect(NoteStore.read().status == errSecItemNotFound) }
        #expect(first.prompts.count == 1, "\(first.prompts)")
        #expect(second.prompts.isEmpty)
    }

    @Test("each type of reader accepts its finger", arguments: [0, 1])
    func readers(_ number: Int) async throws {
        let keychain = try await TemporaryKeychain(reader: [.matchOnChip, .weak][number])
        await keychain.use {
            #expect(NoteStore.add("s3cret", .biometryAny) == errSecSuccess)
            #expect(NoteStore.read().value == "s3cret")
        }
        #expect(keychain.prompts.count == 1)
    }
}
