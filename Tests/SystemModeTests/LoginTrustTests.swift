import Glibc
import Testing
import TouchstoneTesting

/// The setting `trust` in system mode, where each terminal's agent tells the daemon its login.
@Suite(
    "Fingers in a new pane in system mode",
    .serialized,
    .enabled(if: FingerScene.isPossible, Comment(rawValue: FingerScene.needs)),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges"),
    .enabled(if: BegunLogin.isPossible, Comment(rawValue: BegunLogin.needs))
)
struct LoginTrustTests {
    @Test(
        "a touch alone counts in a new pane with `trust = session`, and only if a login has begun",
        arguments: ["trust = session", "trust = terminal"],
        [true, false]
    )
    func pane(setting: String, beginsLogin: Bool) async throws {
        let scene = try await FingerScene(settings: [setting], beginsLogin: beginsLogin)
        let pane = try PseudoTerminal(columns: 200)
        let uid = SystemModeMachine.Account.alice.uid
        #expect(chown(pane.name, uid, uid) == 0)
        let command = "touchstone get finger --show; echo \"ended with $?\"; read line"
        scene.alice.terminal.press(
            .text("setsid sh -c 'exec 0<>\(pane.name) 1>&0 2>&0; \(command)' &"),
            .enter
        )
        let found = try await pane.wait(forAnyOf: ["[Esc] Cancel", "Passcode:"])
        let isShared = setting == "trust = session" && beginsLogin
        #expect(found == (isShared ? 0 : 1), "\(pane.text)")
        if isShared {
            try await scene.sensor.touch(scene.finger, impression: 40)
            try await pane.wait(for: "released by finger")
        } else {
            #expect(try await !scene.sensor.isArmed(within: .milliseconds(700)))
        }
        pane.hangUp()
        await scene.sensor.bus.stop()
    }
}
