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
