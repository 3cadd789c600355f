import Foundation
import Glibc
import Testing
import TouchstoneTesting

@Suite(
    "Moving a keychain to system mode and back with root's command",
    .serialized,
    .enabled(if: MovingMachine.isPossible, MovingMachine.reason),
    .timeLimit(.minutes(20))
)
struct WholeMoveTests {
    private static let openRules =
        "polkit.addRule(function(a, s) { if (a.id.indexOf('net.reactivated.fprint') == 0) return polkit.Result.YES; });"

    /// Reads an item repeatedly while the keychain moves.
    private struct Reader {
        let process: ChildProcess
        let log: String

        /// Starts to read the item.
        init(_ moving: MovingMachine, _ name: String) async throws {
            log = moving.machine.directory.appending("reads-\(UUID().uuidString)")
            let script = """
                while [ ! -e "$0.end" ]; do
                    out=$(\(SystemModeMachine.command) get plain 2>&1); echo "$? $(echo "$out" | head -n 1)"
                done
                """
            process = try await moving.machine.start(
                ["/bin/sh", "-c", script, log],
                as: MovingMachine.alice,
                environment: moving.system.environment,
                log: log
            )
            try await self.wait(for: 1)
        }

        /// Waits for `count` more reads.
        func wait(for count: Int) async throws {
            let before = lines.count
            try await Deadline.wait(for: "reads") { lines.count >= before + count ? true : nil }
        }

        var lines: [Substring] {
            ((try? String(contentsOfFile: log, encoding: .utf8)) ?? "").split(
                separator: "\n",
                omittingEmptySubsequences: false
            ).dropLast()
        }

        /// Stops, and returns the results: exit status and first line.
        func end() async throws -> [Substring] {
            try "".write(toFile: log + ".end", atomically: false, encoding: .utf8)
            _ = try await process.waitUntilEnd()
            return lines
        }
    }

    @Test("all items open in both places, and programs never find an empty keychain")
    func software() async throws { try await thereAndBack(tpm: nil) }

    @Test(
        "the move works on a TPM, whose sealing does not depend on the files' owner",
        .enabled(if: access("/usr/bin/swtpm", X_OK) == 0, "swtpm is missing")
    )
    func hardware() async throws {
        let chip = try await SoftwareTPM.start()
        // On a real machine both accounts are in the group tss.
        chip.admitEverybody()
        try await thereAndBack(tpm: chip.tcti)
    }

    @Test(
        "the check has a terminal of the user's own if root's command is on root's, as with sudo",
        .enabled(if: TerminalPerson.isPossible, "pinentry-tty or touchstone-agent is missing"),
        .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
    )
    func terminalOfRoot() async throws {
        let moving = try await MovingMachine()
        #expect(try await moving.run(["setup"]).status == 0)
        let begun = try await moving.move("enable", ["--later"])
        #expect(begun.status == 7, "\(begun.output)")
        // From here on an agent shows the prompts, as on an installed system.
        let settings = ScriptedOwner.settings.filter { $0.contains("scrypt") || $0.hasPrefix("tpm") }
        try moving.machine.write(
            (TerminalPerson.settings + settings.filter { !TerminalPerson.settings.contains($0) } + [
                "biometry = off"
            ]).joined(separator: "\n") + "\n",
            to: "/etc/touchstone/touchstoned.conf"
        )
        try FileManager.default.removeItem(atPath: moving.machine.outside(SystemModeMachine.agent))
        try moving.machine.installAgent()
        let daemon = try await moving.startDaemon()
        let root = try TerminalPerson(on: moving.machine, as: .root)
        let modes = root.modes
        let status = try await root.run("system enable --user alice --yes", passcodes: 1)
        #expect(status == 0 && root.terminal.text.contains("is in system mode"), "\(root.terminal.text)")
        #expect(moving.ownNames == ["moved"])
        #expect(root.modes == modes)
        try await daemon.expectLogged("event=\"keybagUnlocked\"")
    }

    private func thereAndBack(tpm: String?) async throws {
        let moving = try await MovingMachine(tpm: tpm)
        let wanted = ["plain": "none", "asked": "either", "typed": "passcode"]
        #expect(try await moving.run(["setup"]).status == 0)
        for (name, requirement) in wanted {
            let added = try await moving.run(
                ["set", name, "--require", requirement],
                input: "secret \(name)"
            )
            #expect(added.status == 0, "\(added.output)")
        }
        func expectAll(_ place: String) async throws {
            for name in wanted.keys {
                let read = try await moving.run(["get", name])
                #expect(
                    read.status == 0 && read.output == "secret \(name)",
                    "\(place), \(name): \(read.output)"
                )
            }
        }
        try await expectAll("before")
        let boxes = moving.system.boxes
        let reader = try await Reader(moving, "plain")

        // Nothing starts the daemon here: the command says so, and continues when run again.
        let begun = try await moving.move("enable")
        #expect(begun.status == 7 && begun.output.contains("start touchstoned --owner"), "\(begun.output)")
        #expect(moving.ownNames.isSuperset(of: ["moved", "keybag", "items.sqlite"]))
        try await reader.wait(for: 3)
        let state = try await moving.run(["system", "status", "--user", "alice", "--json"], as: .root)
        #expect(state.output.contains("\"systemUnchecked\""), "\(state.output)")
        let daemon = try await moving.startDaemon()
        let done = try await moving.move("enable")
        #expect(done.status == 0 && done.output.contains("is in system mode"), "\(done.output)")
        #expect(moving.ownNames == ["moved"])
        try await reader.wait(for: 3)
        #expect(moving.system.boxes > boxes, "the daemon of system mode asked for the passcode")
        try await expectAll("in system mode")
        let strength = try await moving.run(["status", "--json"])
        #expect(strength.output.contains("\"test\""), "\(strength.output)")
        let again = try await moving.move("enable")
        #expect(again.status == 10, "\(again.output)")

        let back = try await moving.move("disable")
        #expect(back.status == 0 && back.output.contains("is the user's own again"), "\(back.output)")
        try await Deadline.wait(for: "the daemon's end") { daemon.process.isRunning ? nil : true }
        #expect(moving.systemNames.isEmpty)
        #expect(!moving.ownNames.contains("moved"))
        try await reader.wait(for: 3)
        try await expectAll("back")
        for line in try await reader.end() {
            // The complete keychain, or an error that it is unavailable or that its daemon ended, perhaps with
            // a prompt on the screen; never an empty one.
            let isOne = line == "0 secret plain"
            #expect(
                isOne || line.hasPrefix("7 ")
                    || line.hasPrefix("1 error: the connection to the daemon was lost")
                    || line.hasPrefix("4 error: the prompt was ended by the system"),
                "\(line)"
            )
        }
    }

    @Test(
        "a secret bound to the enrolled set opens with the same finger before, in and after system mode",
        .enabled(
            if: ShippedFiles.isProgram("/usr/libexec/fprintd")
                && ShippedFiles.isProgram("/usr/lib/polkit-1/polkitd"),
            "needs fprintd and polkitd"
        )
    )
    func fingers() async throws {
        let moving = try await MovingMachine(
            settings: ["test.system-bus-address = unix:path=/run/dbus/system_bus_socket"]
        )
        let bus = try await moving.machine.startBus(sensors: [.image], rules: Self.openRules)
        try await moving.show(templates: bus.templateDirectory)
        let finger = SyntheticFinger(1)
        try await Enroller(bus, user: "alice").enrol(finger)
        let reader = VirtualReader(bus)
        func expectOpen(_ place: String, _ impression: Int) async throws {
            async let read = moving.run(["get", "touched"])
            try await reader.touch(finger.impression(impression))
            let found = try await read
            #expect(found.status == 0 && found.output == "secret touched", "\(place): \(found.output)")
            for person in [moving.own, moving.system] { try person.tell([]) }
        }
        #expect(try await moving.run(["setup"]).status == 0)
        let added = try await moving.run(["set", "touched", "--require", "finger"], input: "secret touched")
        #expect(added.status == 0, "\(added.output)")
        try moving.own.tell([.waits])
        try await expectOpen("before", 40)

        #expect(try await moving.move("enable").status == 7)
        let daemon = try await moving.startDaemon()
        let done = try await moving.move("enable")
        #expect(done.status == 0, "\(done.output)")
        #expect(moving.ownNames == ["moved"])
        try moving.system.tell([.waits])
        try await expectOpen("in system mode", 41)
        #expect(!daemon.log.contains("enrolmentChanged"), "\(daemon.log)")

        let back = try await moving.move("disable")
        #expect(back.status == 0, "\(back.output)")
        #expect(back.output.contains("bound to the names of the fingers"), "\(back.output)")
        try moving.own.tell([.waits])
        try await expectOpen("back", 42)
        // Another finger makes another set there, too.
        try await Enroller(bus, user: "alice").enrol(SyntheticFinger(2), as: "left-thumb")
        let gone = try await moving.run(["get", "touched"])
        #expect(gone.status == 3 && gone.output.contains("fingers"), "\(gone.output)")
        await bus.stop()
    }
}

extension SoftwareTPM {
    /// Lets all users of the machine use the chip until its restart.
    nonisolated func admitEverybody() {
        for path in [socket, "\(socket).ctrl"] { chmod(path, 0o666) }
        chmod((socket as NSString).deletingLastPathComponent, 0o711)
    }
}
