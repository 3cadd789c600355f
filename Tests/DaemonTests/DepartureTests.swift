import FingerprintDriver
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

        /// The bus is also the session bus if `hasSessionBus`.
        init(_ settings: [String] = [], hasSessionBus: Bool = false) async throws {
            bus = try await PrivateBus.start(sensors: [])
            logind = try await ScriptedLogind(bus, sessions: [ScriptedSession("a")])
            let owner = ["test.bus-owner-uid = \(geteuid())"]
            keychain = try await PrivateKeychain.ready(
                bus: bus,
                settings: owner + settings,
                environment: hasSessionBus ? ["DBUS_SESSION_BUS_ADDRESS": bus.address] : [:]
            )
        }

        func wait(forScreenSaver name: String?) async throws {
            try await Deadline.wait(for: name ?? "no screen saver") {
                try keychain.client.status().locking.screenSaver == name ? true : nil
            }
        }

        /// Starts an unlock whose prompt nobody answers; the call's value is its error.
        func startUnlock() async throws -> BlockingCall<KeychainError?> {
            try keychain.tellPerson([.waits])
            let (client, prompt, before) = (keychain.client, keychain.prompt(), keychain.prompts)
            let asked = BlockingCall { () -> KeychainError? in
                do throws(KeychainError) {
                    try client.unlock(prompt)
                    return nil
                } catch {
                    return error
                }
            }
            try await Deadline.wait(for: "the prompt") { keychain.prompts > before ? true : nil }
            return asked
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

    @Test("a lid that is closed locks the keychain where the settings say so, and again after it was opened")
    func lid() async throws {
        let scene = try await Scene(["lock-on = lid"])
        // One that is closed at the start, as at a dock, is no departure.
        try await scene.logind.setLidClosed(false)
        for _ in 0..<2 {
            try await scene.logind.setLidClosed(true)
            try await scene.wait(for: .lockedAfterFirstUnlock)
            try scene.keychain.unlock()
            try await scene.logind.setLidClosed(false)
            #expect(try scene.keychain.client.status().keybag == .unlocked)
        }
        try await scene.logind.setLocked("a")
        #expect(try scene.keychain.client.status().keybag == .unlocked)
        #expect(try await scene.keychain.expectLogged("the lid was closed", count: 2).count == 2)
        let known = LockingStatus(triggers: LockTriggers(screen: false, sleep: false, lid: true))
        #expect(try scene.keychain.client.status().locking == known)
        await scene.logind.stop()
        try await scene.wait(forFault: "logind is not on the bus")
        #expect(try scene.keychain.client.status().keybag == .unlocked)
        await scene.bus.stop()
    }

    @Test("the lid is not read by default")
    func lidUnread() async throws {
        let scene = try await Scene()
        try await scene.logind.waitUntilRead(times: 1)
        try await scene.logind.setLocked("a")
        try await scene.wait(for: .lockedAfterFirstUnlock)
        #expect(await scene.logind.lidReads == 0)
        await scene.bus.stop()
    }

    @Test("a prompt that is shown while the screen is locked ends with systemCancel")
    func prompted() async throws {
        let scene = try await Scene()
        try await scene.logind.waitUntilRead(times: 1)
        try scene.keychain.client.lock()
        let asked = try await scene.startUnlock()
        try await scene.logind.setLocked("a")
        #expect(try await asked.value?.authentication?.code == .systemCancel)
        await scene.bus.stop()
    }

    @Test(
        "a prompt ends when its session is not active any more, none is shown until it is again, whatever locks",
        arguments: ["screen, sleep", "never"]
    )
    func inactive(lockOn: String) async throws {
        let scene = try await Scene(["lock-on = \(lockOn)"])
        try scene.keychain.client.lock()
        let asked = try await scene.startUnlock()
        try await scene.logind.setActive("a", false)
        let error = try await asked.value?.authentication
        #expect(error?.code == .systemCancel && error?.cause?.known == .sessionInactive)
        let shown = scene.keychain.prompts
        let refused = #expect(throws: KeychainError.self) { try scene.keychain.unlock() }
        #expect(refused?.authentication?.cause?.known == .sessionInactive)
        #expect(scene.keychain.prompts == shown)
        // A session without a seat is not behind anything, and this process belongs to no session.
        try await scene.logind.add(ScriptedSession("ssh", type: "tty", seat: ""))
        try scene.keychain.unlock()
        #expect(try scene.keychain.client.status().keybag == .unlocked)
        try scene.keychain.client.lock()
        try await scene.logind.remove("ssh")
        try await Deadline.wait(for: "a refusal") { () -> Bool? in
            do throws(KeychainError) {
                try scene.keychain.client.unlock(scene.keychain.prompt())
                try scene.keychain.client.lock()
                return nil
            } catch {
                return error.authentication?.cause?.known == .sessionInactive ? true : nil
            }
        }
        try await scene.logind.setActive("a", true)
        try await Deadline.wait(for: "an unlock") { (try? scene.keychain.unlock()).map { true } }
        await scene.bus.stop()
    }

    @Test("a prompt is shown while another user's session is switched, and without logind")
    func notOurs() async throws {
        let scene = try await Scene()
        try await scene.logind.add(ScriptedSession("other", userID: geteuid() + 1))
        try await scene.logind.setActive("other", false)
        try scene.keychain.client.lock()
        try scene.keychain.unlock()
        try await scene.logind.setActive("a", false)
        await scene.logind.stop()
        try await scene.wait(forFault: "logind is not on the bus")
        try scene.keychain.client.lock()
        try scene.keychain.unlock()
        await scene.bus.stop()
    }

    @Test(
        "the desktop's screen saver locks the keychain, without logind and where no session announces its lock"
    )
    func screenSaver() async throws {
        let scene = try await Scene(hasSessionBus: true)
        let saver = try await ScriptedScreenSaver(scene.bus, .cinnamon)
        try await scene.wait(forScreenSaver: "org.cinnamon.ScreenSaver")
        try await saver.setActive(true)
        try await scene.wait(for: .lockedAfterFirstUnlock)
        try scene.keychain.unlock()
        try await saver.setActive(false)
        await scene.logind.stop()
        try await scene.wait(forFault: "logind is not on the bus")
        try await saver.setActive(true)
        try await scene.wait(for: .lockedAfterFirstUnlock)
        await saver.stop()
        try await scene.wait(forScreenSaver: nil)
        await scene.bus.stop()
    }

    @Test(
        "a screen that is blanked locks nothing where the session announces its lock, nor with other settings"
    )
    func blanked() async throws {
        let scene = try await Scene(hasSessionBus: true)
        try await scene.logind.waitUntilRead(times: 1)
        try await scene.logind.setLocked("a")
        try await scene.wait(for: .lockedAfterFirstUnlock)
        try await scene.logind.setLocked("a", false)
        try scene.keychain.unlock()
        let saver = try await ScriptedScreenSaver(scene.bus, .gnome)
        try await scene.wait(forScreenSaver: "org.gnome.ScreenSaver")
        try await saver.setActive(true)
        try await saver.setActive(false)
        // What it said before it left was heard before.
        await saver.stop()
        try await scene.wait(forScreenSaver: nil)
        #expect(try scene.keychain.client.status().keybag == .unlocked)
        try await scene.logind.setLocked("a")
        try await scene.wait(for: .lockedAfterFirstUnlock)
        #expect(try await scene.keychain.expectLogged("the screen was locked", count: 2).count == 2)
        await scene.bus.stop()
        let sleepOnly = try await Scene(["lock-on = sleep"], hasSessionBus: true)
        let other = try await ScriptedScreenSaver(sleepOnly.bus, .gnome)
        #expect(try sleepOnly.keychain.client.status().locking.screenSaver == nil)
        try await other.setActive(true)
        #expect(try sleepOnly.keychain.client.status().keybag == .unlocked)
        await sleepOnly.bus.stop()
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
