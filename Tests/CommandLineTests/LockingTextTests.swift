import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "What locks the keychain",
    .enabled(if: Programs.isBuilt(Programs.touchstone), "touchstone is not built")
)
struct LockingTextTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let locking: LockingStatus
        let status: String
        let doctor: String

        var testDescription: String { status }
    }

    private static func none(_ fault: String? = nil) -> LockingStatus {
        LockingStatus(triggers: LockTriggers(screen: false, sleep: false), sessionsFault: fault)
    }

    @Test(
        "status and doctor say it, and why it does not work",
        arguments: [
            Case(
                locking: LockingStatus(),
                status: "Locks:      with the screen, before sleep\nPrompt:",
                doctor: "ok    locking: with the screen, before sleep\n"
            ),
            Case(
                locking: LockingStatus(triggers: LockTriggers(idle: .seconds(900)), secondsLeft: 61),
                status: """
                    Locks:      with the screen, before sleep, after 15 min without use
                                in 61 s, by lock --after
                    Prompt:
                    """,
                doctor: "ok    locking: with the screen, before sleep, after 15 min without use\n"
            ),
            Case(
                locking: none(),
                status: "Locks:      only by touchstone lock (lock-on = never)\nPrompt:",
                doctor: "ok    locking: only by touchstone lock (lock-on = never)\n"
            ),
            Case(
                locking: none("what does not matter"),
                status: "Locks:      only by touchstone lock (lock-on = never)\nPrompt:",
                doctor: "ok    locking: only by touchstone lock (lock-on = never)\n"
            ),
            Case(
                locking: LockingStatus(sessionsFault: "logind is not on the bus"),
                status: """
                    Locks:      with the screen, before sleep
                                a locked screen and sleep do not lock it: logind is not on the bus
                                start systemd-logind, or lock by time: lock-on = idle 15 min in
                    """,
                doctor: "warn  locking: a locked screen and sleep do not lock it: logind is not on the bus\n"
            ),
            Case(
                locking: LockingStatus(triggers: LockTriggers(lid: true), sessionsFault: "no bus"),
                status: "Locks:      with the screen, before sleep, with the lid\n",
                doctor: "locking: a locked screen and sleep and a closed lid do not lock it: no bus\n"
            ),
            Case(
                locking: LockingStatus(screenSaver: "org.gnome.ScreenSaver"),
                status: "Locks:      with the screen (org.gnome.ScreenSaver), before sleep\nPrompt:",
                doctor: "ok    locking: with the screen (org.gnome.ScreenSaver), before sleep\n"
            ),
            Case(
                locking: LockingStatus(
                    sessionsFault: "logind is not on the bus",
                    screenSaver: "org.gnome.ScreenSaver"
                ),
                status: """
                    Locks:      with the screen (org.gnome.ScreenSaver), before sleep
                                sleep does not lock it: logind is not on the bus
                    """,
                doctor: "warn  locking: sleep does not lock it: logind is not on the bus\n"
            ),
            Case(
                locking: LockingStatus(
                    triggers: LockTriggers(sleep: false),
                    sessionsFault: "logind is not on the bus",
                    screenSaver: "org.mate.ScreenSaver"
                ),
                status: "Locks:      with the screen (org.mate.ScreenSaver)\nPrompt:",
                doctor: "ok    locking: with the screen (org.mate.ScreenSaver)\n"
            ),
            Case(
                locking: LockingStatus(
                    triggers: LockTriggers(sleep: false, idle: .seconds(30)),
                    sessionsFault: "no bus"
                ),
                status: "            a locked screen does not lock it: no bus\n",
                doctor: "warn  locking: a locked screen does not lock it: no bus\n"
            ),
            Case(
                locking: LockingStatus(
                    triggers: LockTriggers(screen: false),
                    sessionsFault: "\u{1B}[2Jno bus"
                ),
                status: "            sleep does not lock it: \\u{1b}[2Jno bus\n",
                doctor: "warn  locking: sleep does not lock it: \\u{1b}[2Jno bus\n"
            ),
        ]
    )
    func texts(_ example: Case) async throws {
        let home = try TemporaryHome()
        let reply = StatusReply(
            keybag: .unlocked,
            assurance: .softwareUser,
            assuranceReasons: [],
            authentication: AuthenticationStatus(),
            promptFault: nil,
            daemonVersion: "1.2",
            daemonProcess: 4711,
            locking: example.locking
        )
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            while true {
                let request = try peer.next()
                guard request.head.method != .check else {
                    let report = StoreReport(
                        items: 0,
                        invalidated: 0,
                        damaged: 0,
                        isSetAuthentic: true,
                        faults: []
                    )
                    try peer.reply(to: request, CheckReply(report))
                    continue
                }
                try peer.reply(to: request, reply)
            }
        }
        let status = try await CommandRun("status", home: home).run().text
        #expect(status.contains(example.status), "\(status)")
        let doctor = try await CommandRun("doctor", home: home).run().text
        #expect(doctor.contains(example.doctor), "\(doctor)")
        _ = daemon
    }
}
