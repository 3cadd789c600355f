import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "Locking with the screen, sleep and idle time",
    .enabled(if: Programs.isBuilt, "touchstoned is not built")
)
struct DepartureTests {
    /// A daemon on a bus with a scripted logind that has a session "a" of the daemon's user.
    private struct Scene {
        let bus: PrivateBus
        let logind: ScriptedLogind
        let keychain: PrivateKeychain

        init(_ settings: [String] = []) async throws {
            bus = try await PrivateBus.start(sensors: [])
            logind = try await ScriptedLogind(bus, sessions: [ScriptedSession("a")])
            let owner = ["test.bus-owner-uid = \(geteuid())"]
            keychain = try await PrivateKeychain.ready(bus: bus, settings: owner + settings)
        }

        func wait(forFault fault: String?) async throws {
            try await Deadline.wait(for: fault ?? "no fault") {
                try keychain.client.status().locking.sessionsFault == fault ? true : nil
            }
        }

        func wait(for state: KeybagState) async throws {
            try await Deadline.wait(for: "\(state)") {
                try keychain.client.status().keybag == state ? true : nil
            }
        }
    }

    @Test("a locked screen locks the keychain, and it can be unlocked and locked again")
    func screen() async throws {
        let scene = try await Scene()
        try await scene.logind.waitUntilRead(times: 1)
        try await scene.logind.setLocked("a")
        try await scene.wait(for: .lockedAfterFirstUnlock)
        try scene.keychain.client.unlock(scene.keychain.prompt())
        try await scene.wait(for: .unlocked)
        try await scene.logind.askToLock("a")
        try await scene.wait(for: .lockedAfterFirstUnlock)
        await scene.bus.stop()
    }

    @Test("before the first unlock a locked screen changes nothing")
    func beforeFirstUnlock() async throws {
        let scene = try await Scene()
        try await scene.logind.waitUntilRead(times: 1)
        scene.keychain.stop(with: SIGTERM)
        try await scene.keychain.start()
        try await scene.logind.waitUntilRead(times: 2)
        try await scene.logind.setLocked("a")
        try await scene.keychain.expectLogged("the screen was locked")
        #expect(try scene.keychain.client.status().keybag == .locked)
        try scene.keychain.client.unlock(scene.keychain.prompt())
        try await scene.wait(for: .unlocked)
        await scene.bus.stop()
    }

    @Test(
        "sleep locks the keychain before the machine sleeps, with the sensor in use and without",
        arguments: ["on", "off"]
    )
    func sleep(biometry: String) async throws {
        let scene = try await Scene(["biometry = \(biometry)"])
        try await scene.logind.waitUntilDelayed()
        try await scene.logind.prepareForSleep()
        try await scene.logind.waitUntilNotDelayed()
        #expect(try scene.keychain.client.status().keybag == .lockedAfterFirstUnlock)
        await scene.bus.stop()
    }

    @Test("a prompt that is shown while the screen is locked ends with systemCancel")
    func prompted() async throws {
        let scene = try await Scene()
        try await scene.logind.waitUntilRead(times: 1)
        try scene.keychain.client.lock()
        try scene.keychain.tellPerson([.waits])
        let (client, prompt, before) = (
            scene.keychain.client, scene.keychain.prompt(), scene.keychain.prompts
        )
        let asked = BlockingCall { () -> KeychainError? in
            do throws(KeychainError) {
                try client.unlock(prompt)
                return nil
            } catch {
                return error
            }
        }
        try await Deadline.wait(for: "the prompt") { scene.keychain.prompts > before ? true : nil }
        try await scene.logind.setLocked("a")
        #expect(try await asked.value?.authentication?.code == .systemCancel)
        await scene.bus.stop()
    }

    @Test("with never, neither the screen nor sleep nor the end of the session locks")
    func never() async throws {
        let scene = try await Scene(["lock-on = never"])
        try await scene.logind.waitUntilDelayed()
        try await scene.logind.setLocked("a")
        try await scene.logind.remove("a")
        try await scene.logind.prepareForSleep()
        try await scene.logind.waitUntilNotDelayed()
        #expect(try scene.keychain.client.status().keybag == .unlocked)
        await scene.bus.stop()
    }

    @Test("status says why sessions are not heard, and that they are once logind is back")
    func heard() async throws {
        let scene = try await Scene()
        #expect(try scene.keychain.client.status().locking == LockingStatus())
        await scene.logind.stop()
        try await scene.wait(forFault: "logind is not on the bus")
        let again = try await ScriptedLogind(scene.bus, sessions: [ScriptedSession("a")])
        try await scene.wait(forFault: nil)
        try await again.setLocked("a")
        try await scene.wait(for: .lockedAfterFirstUnlock)
        await scene.bus.stop()
        try await Deadline.wait(for: "the fault") {
            try scene.keychain.client.status().locking.sessionsFault == nil ? nil : true
        }
    }

    @Test("status says at once that there is no bus, and nothing of sessions if they lock nothing")
    func unheard() async throws {
        let alone = try await PrivateKeychain.ready()
        #expect(try alone.client.status().locking.sessionsFault?.hasPrefix("no bus: ") == true)
        let never = try await PrivateKeychain.ready(settings: ["lock-on = never"])
        let nothing = LockTriggers(screen: false, sleep: false)
        #expect(try never.client.status().locking == LockingStatus(triggers: nothing))
    }

    @Test("the daemon takes no time of 0, and none beyond a week", arguments: [0, -1, 604_801, Int.max])
    func outOfRange(seconds: Int) async throws {
        let keychain = try await PrivateKeychain.ready()
        let error = #expect(throws: KeychainError.self) { try keychain.client.lock(after: seconds) }
        #expect(error?.status == .param)
        #expect(try keychain.client.status().locking.secondsLeft == nil)
    }

    @Test("a pending lock goes with its daemon")
    func pending() async throws {
        let keychain = try await PrivateKeychain.ready()
        try keychain.client.lock(after: 604_800)
        #expect(try keychain.client.status().locking.secondsLeft == 604_800)
        keychain.stop(with: SIGTERM)
        try await keychain.start()
        try keychain.client.unlock(keychain.prompt())
        #expect(try keychain.client.status().locking.secondsLeft == nil)
    }

    @Test(
        "after the idle time the keychain locks, and again after the next unlock; status does not restart it"
    )
    func idle() async throws {
        let scene = try await Scene(["lock-on = idle 1 s"])
        for _ in 0..<2 {
            try await scene.wait(for: .lockedAfterFirstUnlock)
            try scene.keychain.client.unlock(scene.keychain.prompt())
        }
        await scene.bus.stop()
    }
}
