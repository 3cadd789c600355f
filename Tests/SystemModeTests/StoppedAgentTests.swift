import Foundation
import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

/// Malware of the user that stops what shows a prompt, so that nobody can cancel it.
@Suite(
    "A stopped agent, or a stopped pinentry below it",
    .serialized,
    .enabled(if: FingerScene.isPossible, Comment(rawValue: FingerScene.needs)),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
)
struct StoppedAgentTests {
    private func stop(_ process: Int32) async throws {
        kill(process, SIGSTOP)
        try await Deadline.wait(for: "the stop") { ChildProcess.state(of: process) == "T" ? true : nil }
    }

    private func agent(of alice: TerminalPerson) async throws -> Int32 {
        // The agent of the previous command may just be ending.
        try await Deadline.wait(for: "one agent") { alice.agents.count == 1 ? alice.agents.first : nil }
    }

    @Test("a match while the agent is stopped opens nothing and costs no attempt; later prompts are in order")
    func stoppedAgent() async throws {
        let scene = try await FingerScene()
        let (alice, sensor) = (scene.alice, scene.sensor)
        let before = alice.modes
        for (number, isContinued) in [true, false].enumerated() {
            let reading = try await alice.start("get finger --show")
            try await alice.terminal.wait(for: "[Esc] Cancel")
            let agent = try await agent(of: alice)
            try await sensor.armed()
            try await stop(agent)
            try await sensor.touch(scene.finger, impression: 40 + number)
            // The prompt's own time is far longer than the agent has to confirm that it shows the prompt.
            #expect(try await alice.end(of: reading) != 0, "\(alice.terminal.text)")
            #expect(!alice.terminal.text.contains("released by"))
            #expect(try await !sensor.isArmed(within: .zero))
            // The kernel continues what is stopped in the group of a job that has ended; the agent may end by itself.
            if isContinued {
                kill(agent, SIGCONT)
            } else {
                kill(agent, SIGKILL)
            }
            try await alice.expectNoAgent()
            try await Deadline.wait(for: "the modes") { alice.modes == before ? true : nil }
            #expect(try await scene.count("biometryFailures") == 0)
        }
        try await scene.touchAlone(44)
        #expect(alice.terminal.text.contains("released by finger"))
        // A stop that ends before the touch changes nothing.
        let reading = try await alice.start("get finger --show")
        try await alice.terminal.wait(for: "[Esc] Cancel")
        let agent = try await agent(of: alice)
        try await sensor.armed()
        try await stop(agent)
        kill(agent, SIGCONT)
        try await sensor.touch(scene.finger, impression: 45)
        #expect(try await alice.end(of: reading) == 0, "\(alice.terminal.text)")
        await sensor.bus.stop()
    }

    @Test("a touch that does not match while the agent is stopped is a failed attempt, as always")
    func wrongFinger() async throws {
        let scene = try await FingerScene()
        let (alice, sensor) = (scene.alice, scene.sensor)
        let reading = try await alice.start("get finger --show")
        try await alice.terminal.wait(for: "[Esc] Cancel")
        let agent = try await agent(of: alice)
        try await sensor.armed()
        try await stop(agent)
        try await sensor.touch(SyntheticFinger(8))
        try await Deadline.wait(for: "the verdict") { try await sensor.isArmed(within: .zero) ? nil : true }
        #expect(try await scene.count("biometryFailures") == 1)
        // The prompt that says so cannot be shown until the agent continues.
        kill(agent, SIGCONT)
        let found = try await alice.terminal.wait(forAnyOf: ["4 tries left", "ended with"])
        if found == 0 {
            try await sensor.touch(scene.finger, impression: 41)
            #expect(try await alice.end(of: reading) == 0, "\(alice.terminal.text)")
        }
        try await alice.expectNoAgent()
        try await scene.touchAlone(42)
        await sensor.bus.stop()
    }

    @Test("a match while the pinentry below the agent is stopped opens nothing and costs no attempt")
    func stoppedPinentry() async throws {
        let scene = try await FingerScene()
        let (alice, sensor) = (scene.alice, scene.sensor)
        let before = alice.modes
        let reading = try await alice.start("get either --show")
        try await alice.terminal.wait(for: "Passcode:")
        let agent = try await agent(of: alice)
        let pinentry = try await Deadline.wait(for: "pinentry") { children(of: agent).first }
        try await sensor.armed()
        try await stop(pinentry)
        try await sensor.touch(scene.finger)
        // The passcode still does, in a prompt of a program that runs; or the request has failed.
        let found = try await alice.terminal.wait(forAnyOf: ["ended with", "Passcode:"])
        #expect(!alice.terminal.text.contains("released by"), "\(alice.terminal.text)")
        if found == 1 {
            try await alice.waitForField()
            alice.terminal.press(.interrupt)
            #expect(try await alice.end(of: reading) != 0, "\(alice.terminal.text)")
        }
        #expect(ChildProcess.hasEnded(pinentry))
        try await alice.expectNoAgent()
        try await Deadline.wait(for: "the modes") { alice.modes == before ? true : nil }
        #expect(try await scene.count("biometryFailures") == 0)
        try await scene.touchAlone(44)
        await sensor.bus.stop()
    }

    private func children(of process: Int32) -> [Int32] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return names.compactMap(Int32.init).filter { ProcessStat(of: $0)?.parent == process }
    }
}
