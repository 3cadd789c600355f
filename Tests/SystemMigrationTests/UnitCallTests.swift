import Foundation
import Glibc
import Testing
import TouchstoneTesting

@Suite(
    "touchstone system's calls of systemctl",
    .serialized,
    .enabled(
        if: MoveMachine.isPossible && access("/usr/bin/systemctl", X_OK) == 0,
        "needs root, strace, mounts of its own and systemctl"
    ),
    .timeLimit(.minutes(10))
)
struct UnitCallTests {
    private let machine: MoveMachine

    /// A machine whose systemctl is a script that records its calls and fails for units named in a file
    /// `broken`.
    init() throws {
        machine = try MoveMachine()
        let script = try machine.home.write(
            """
            #!/bin/sh
            echo "$*" >>\(machine.home.path)/units
            for unit in $(cat \(machine.home.path)/broken 2>/dev/null); do case $* in *"$unit"*) exit 1 ;; esac; done

            """,
            to: "systemctl"
        )
        #expect(chmod(script, 0o755) == 0)
    }

    /// Runs a step; returns its exit status, its output, and the recorded calls.
    private func run(_ step: String) async throws -> (status: Int32, text: String, units: [Substring]) {
        let log = machine.home.appending("units")
        try "".write(toFile: log, atomically: false, encoding: .utf8)
        let before = """
            mkdir -p /run/systemd/system /run/touchstone/\(MoveMachine.user)
            : >/run/touchstone/\(MoveMachine.user)/socket
            mount --bind "$0/systemctl" /usr/bin/systemctl
            """
        let (status, text) = try await machine.run(step, before: before)
        return (status >> 8, text, try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n"))
    }

    @Test("enable starts the broker's socket before the move and the daemon's after it; disable reverses it")
    func calls() async throws {
        let socket = "touchstoned@\(MoveMachine.user).socket"
        let broker = "--quiet start touchstone-broker.socket"
        try machine.reset()
        let broken = machine.home.appending("broken")
        try "touchstone-broker".write(toFile: broken, atomically: false, encoding: .utf8)
        let refused = try await run("enable")
        #expect(refused.status == 1 && refused.units == [broker[...]], "\(refused)")
        #expect(refused.text.contains("hint: systemctl status touchstone-broker.socket"), "\(refused.text)")
        #expect(machine.faults.isEmpty && machine.isWhole(machine.own, owner: MoveMachine.user))
        try "touchstoned@".write(toFile: broken, atomically: false, encoding: .utf8)
        let failed = try await run("enable")
        let enabled = [broker, "--quiet enable --now \(socket)"]
        #expect(failed.status == 1 && failed.units.map(String.init) == enabled, "\(failed)")
        #expect(failed.text.contains("hint: systemctl status \(socket) says why"), "\(failed.text)")
        #expect(machine.faults.isEmpty && machine.isWhole(machine.kept, owner: MoveMachine.keeper))
        let stuck = try await run("disable")
        #expect(stuck.status == 1 && stuck.units == ["--quiet disable --now \(socket)"], "\(stuck)")
        #expect(machine.faults.isEmpty && machine.isWhole(machine.kept, owner: MoveMachine.keeper))

        try FileManager.default.removeItem(atPath: broken)
        let done = try await run("enable")
        // The keychain has moved already, so the broker is not needed again.
        #expect(done.status == 0 && done.units == ["--quiet enable --now \(socket)"], "\(done)")
        let back = try await run("disable")
        #expect(back.status == 0, "\(back)")
        #expect(
            back.units == [
                "--quiet disable --now \(socket)", "--quiet stop touchstoned@\(MoveMachine.user).service",
            ]
        )
        #expect(machine.isWhole(machine.own, owner: MoveMachine.user))
    }

    @Test("enabling again repeats the call, because a kill may have prevented it")
    func again() async throws {
        try machine.resetInSystemMode()
        let again = try await run("enable")
        #expect(again.status == 10, "\(again)")
        #expect(again.units == ["--quiet enable --now touchstoned@\(MoveMachine.user).socket"], "\(again)")
    }
}
