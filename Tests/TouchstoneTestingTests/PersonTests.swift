import Foundation
import KeychainClient
import KeychainModel
import LocalAuthentication
import SecretMemory
import Security
import Testing
import Touchstone

@testable import TouchstoneTesting

/// The cells: unlocked, locked, restarted, after a lockout, after a change of fingers, on a new terminal; a prompt for a finger, for
/// either, for the passcode; each deed.
@Suite("The person at each prompt that is shown", .serialized, .timeLimit(.minutes(10)))
struct PersonTests {
    private let finger = SecretStore("com.example.finger")
    private let either = SecretStore("com.example.either", rule: .biometryOrPasscode)
    private let free = SecretStore("com.example.free", rule: .whenUnlocked)

    private func fill() async throws {
        for store in [finger, either, free] { try await store.write("s3cret", for: "key") }
    }

    private func code(_ store: SecretStore) async -> TouchstoneError.Code? {
        do throws(TouchstoneError) {
            _ = try await store.read("key", as: String.self, with: "a test")
            return nil
        } catch {
            return error.code
        }
    }

    @Test("after a lock and after a crash the person types the passcode first, then touches")
    func locked() async throws {
        let keychain = try await TemporaryKeychain()
        try await keychain.use {
            try await fill()
            for (fault, isRestart) in [(TestFault.lock, false), (.daemonCrash, true)] {
                for store in [finger, either, free] {
                    try await keychain.cause(fault)
                    let before = keychain.prompts.count
                    #expect(try await store.read("key") == "s3cret", "\(fault) \(store.name)")
                    // After a restart no item can be looked up before a prompt unlocks the keychain, and a finger opens none.
                    let expected = isRestart && store.name == finger.name ? 2 : 1
                    #expect(keychain.prompts.count == before + expected, "\(fault) \(store.name)")
                }
            }
            // The deed is for the whole prompt.
            for (deed, expected) in [
                (TestDeed.touches(.first), nil), (.cancels, .userCancelled), (.typesPasscode, nil),
                (.choosesFallback, .fallbackChosen), (.touches(.second), .lockedOutUntilPasscode),
            ] as [(TestDeed, TouchstoneError.Code?)] {
                try await keychain.cause(.lock)
                let before = keychain.prompts.count
                keychain.person(deed)
                #expect(await code(finger) == expected, "\(deed)")
                #expect(keychain.prompts.count == before + 1, "\(deed)")
            }
        }
    }

    @Test("after a lockout and after a change of fingers the passcode is typed where it suffices")
    func lockedOut() async throws {
        let keychain = try await TemporaryKeychain()
        try await keychain.use {
            try await fill()
            keychain.person(.touches(.second))
            #expect(await code(finger) == .lockedOutUntilPasscode)
            #expect(await code(finger) == .lockedOutUntilPasscode)
            #expect(keychain.prompts.count == 1, "none is shown in vain")
            #expect(try await either.read("key") == "s3cret")
            #expect(keychain.prompts.count == 2)
            #expect(try await finger.read("key") == "s3cret", "the passcode ended the lockout")
            #expect(keychain.prompts.count == 3)
            try await keychain.enrol(.second)
            #expect(await code(finger) == .invalidated)
            #expect(try await either.read("key") == "s3cret")
            #expect(keychain.prompts.count == 4)
        }
    }

    @Test("the first prompt on another terminal or display takes the passcode, the second one the finger")
    func newTerminal() async throws {
        let keychain = try await TemporaryKeychain()
        let display = try DisplaySocket()
        try await keychain.use {
            try await fill()
            let origin = PromptOrigin(display: display.name)
            try await KeychainConnection.$promptOrigin.withValue(origin) {
                for number in 1...2 {
                    let secret: String = try await either.read("key")
                    #expect(secret == "s3cret")
                    #expect(keychain.prompts.count == number)
                }
                #expect(keychain.prompts.map(\.takesFinger) == [false, true])
            }
        }
    }

    @Test("wrong passcodes make the person wait, and the clock ends the wait")
    func mistyped() async throws {
        let clock = ManualClock()
        let keychain = try await TemporaryKeychain(reader: nil, clock: clock)
        let store = SecretStore("com.example.passcode", rule: .passcode)
        try await keychain.use {
            try await store.write("s3cret", for: "key")
            keychain.person(.mistypesPasscode)
            #expect(await code(store) == .userCancelled)
            #expect(keychain.prompts.count == 1)
            let obstacle = try await Keychain.current.capability(for: .passcode).obstacle
            #expect(obstacle == .lockedOut)
            #expect(await code(store) == .lockedOut)
            clock.advance(by: try #require(obstacle?.retryAfter))
            #expect(try await store.read("key") == "s3cret")
            #expect(keychain.prompts.count == 2)
        }
    }

    @Test("after two days without use the passcode is asked for in place of the finger")
    func due() async throws {
        let clock = ManualClock()
        let keychain = try await TemporaryKeychain(clock: clock)
        try await keychain.use {
            try await fill()
            #expect(try await finger.read("key") == "s3cret")
            clock.advance(by: .seconds(49 * 3600))
            #expect(await code(finger) == .lockedOutUntilPasscode)
            #expect(try await either.read("key") == "s3cret")
            #expect(keychain.prompts.map(\.takesFinger) == [true, false])
            #expect(try await finger.read("key") == "s3cret")
        }
    }

    @Test("a weak reader is weak: only what accepts weak biometry accepts its finger")
    func weak() async throws {
        let keychain = try await TemporaryKeychain(reader: .weak)
        try await keychain.use {
            let sensor = try #require(try await Keychain.current.capability().sensor)
            #expect(sensor.strength == .weakBiometry)
            #expect(try await Keychain.current.capability().obstacle == .sensorTooWeak)
            await #expect(throws: TouchstoneError.sensorTooWeak) {
                try await finger.write("s3cret", for: "key")
            }
            let lenient = SecretStore("lenient", rule: .biometry.acceptingWeakBiometry())
            try await lenient.write("s3cret", for: "key")
            #expect(try await lenient.read("key") == "s3cret")
            #expect(keychain.prompts.count == 1)
        }
        let strong = try await TemporaryKeychain(reader: .matchOnChip)
        try await strong.use {
            try await finger.write("s3cret", for: "key")
            #expect(try await finger.read("key") == "s3cret")
        }
    }

    @Test("without a reader there is no hardware, at once and after the daemon's restart")
    func noReader() async throws {
        let keychain = try await TemporaryKeychain(reader: nil)
        try await keychain.use {
            for _ in 0..<2 {
                #expect(try await Keychain.current.capability().obstacle == .noHardware)
                await #expect(throws: TouchstoneError.noHardware) {
                    try await Keychain.current.authenticate("a test")
                }
                try await keychain.cause(.daemonCrash)
                _ = try await Keychain.current.authenticate("a test", using: .passcode)
            }
        }
    }

    @Test("calls in the reply of an evaluation, a right and a key use the test's keychain")
    func replies() async throws {
        let keychain = try await TemporaryKeychain()
        let statuses = Guarded<[OSStatus]>([])
        try await keychain.use {
            LAContext().evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "a test") { isShown, _ in
                let status = isShown ? NoteStore.add("reply", nil) : errSecAuthFailed
                statuses.withLock { $0.append(status) }
            }
            try await Deadline.wait(for: "the reply") { statuses.withLock(\.count) == 1 ? true : nil }
            LARight().checkCanAuthorize { _ in
                let status = SecItemDelete([kSecClass: kSecClassGenericPassword] as CFDictionary)
                statuses.withLock { $0.append(status) }
            }
            try await Deadline.wait(for: "the second reply") { statuses.withLock(\.count) == 2 ? true : nil }
            #expect(statuses.withLock(\.self) == [errSecSuccess, errSecSuccess])
        }
    }
}
