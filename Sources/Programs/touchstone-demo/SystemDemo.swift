import Foundation
import Glibc
import TouchstoneTesting

/// System mode, end to end, leaving nothing on the machine: `Scripts/demo --system`.
///
/// Real: the daemon and the broker in the sandbox of their units, the set-gid agent, the command line, bus, polkitd
/// with the shipped rule, fprintd and its matcher, pinentry. Instead of systemd: this program, which makes the sockets
/// and starts their services; instead of a sensor and a hand: libfprint's virtual sensor, and a script at a
/// pseudo-terminal.
struct SystemDemo: ~Copyable {
    private static let passcode = "hazel anvil quiver mosaic tundra"
    private static let finger = SyntheticFinger(1)
    private static let alice = SystemModeMachine.Account.alice
    private static let store = "/var/lib/touchstone/\(alice.uid)"

    private let machine: SystemModeMachine
    private let bus: PrivateBus
    private let window: Window
    private var daemon: SystemDaemon
    private var transcript: Transcript
    private var touches = 100

    static func run() async throws {
        guard UnitSandbox.isPossible else { throw Surprise("the demo of system mode \(UnitSandbox.needs)") }
        var transcript = Transcript()
        transcript.step("Make a private root: accounts, /run, /var/lib and the system's units of its own")
        let machine = try await SystemModeMachine.start(
            configuration: ["pinentry-program = /usr/bin/pinentry-tty", "tpm = off"],
            daemon: Programs.installedTouchstoned
        )
        let bus = try await machine.startBus(
            sensors: [.image],
            rules: try String(
                contentsOfFile: UnitSandbox.shippedUnits + "/50-touchstone.rules",
                encoding: .utf8
            )
        )
        transcript.done("a bus with polkitd and fprintd in it, and the users alice and bob")

        transcript.step("Install the programs, units, rule and directories there, as the package does")
        try await Installation(machine).install()
        transcript.done("in /usr/libexec/touchstone; touchstone-agent has mode 2755 and its own group")

        transcript.step("sudo touchstone system enable --user alice")
        // The socket, which systemctl enable --now makes where systemd runs; the daemon makes the store's directory.
        _ = try machine.listen(for: alice)
        rmdir(machine.outside(store))
        // The command asks the broker before it moves anything.
        let broker = try await Installation(machine).startBroker(templates: bus.templateDirectory)
        let enabled = try await asRoot(machine, "enable")
        transcript.quote(enabled.output)
        let daemon = try await machine.startDaemon(for: alice)
        transcript.done("daemon and broker run in the sandbox of their units")

        let window = try await Window(of: alice, on: machine)
        var demo = SystemDemo(machine, bus, window, daemon, transcript)
        try await demo.enrolAndSetUp()
        try await demo.storeAndRead()
        try await demo.refuseOthers()
        try await demo.refuseAttacker()
        try await demo.disable()
        demo.transcript.end("Nothing was installed on this machine: everything ended with the demo.")
        withExtendedLifetime(broker) {}
        await bus.stop()
    }

    private init(
        _ machine: SystemModeMachine,
        _ bus: PrivateBus,
        _ window: Window,
        _ daemon: SystemDaemon,
        _ transcript: consuming Transcript
    ) {
        self.machine = machine
        self.bus = bus
        self.window = window
        self.daemon = daemon
        self.transcript = transcript
    }

    /// Runs `touchstone system` as root, for alice; throws ``Surprise`` unless it succeeds.
    private static func asRoot(_ machine: SystemModeMachine, _ verb: String, _ options: String...)
        async throws -> Finished
    {
        let finished = try await machine.run(
            [SystemModeMachine.command, "system", verb, "--user", alice.name, "--yes"] + options,
            as: .root
        )
        guard finished.status == 0 else {
            throw Surprise("system \(verb) ended with \(finished.status): \(finished.output)")
        }
        return finished
    }

    // MARK: The keychain's owner

    private mutating func enrolAndSetUp() async throws {
        transcript.step("Enrol alice's right index finger, through fprintd as the desktop's settings do")
        let count = try await Enroller(bus, user: Self.alice.name).enrol(Self.finger)
        transcript.done("enrolled with \(count) touches")

        transcript.step("alice$ touchstone setup: the agent in her session shows the prompts")
        let ended = try await window.run("touchstone setup") { terminal in
            for _ in 0..<2 {
                _ = try await terminal.wait(forAnyOf: ["Passcode:", "Again:"])
                terminal.press(.text(Self.passcode), .enter)
            }
            try await terminal.wait(for: "not shown again")
            let code = try await Scene.recoveryCode(on: terminal)
            terminal.press(.enter)
            try await terminal.wait(for: "Recovery code:")
            terminal.press(.text(code), .enter)
        }
        try ended.expect(0)
        transcript.done("the keychain is in \(Self.store), which belongs to the daemon's account")
    }

    private mutating func storeAndRead() async throws {
        for (name, demand) in [("github-token", "finger"), ("mail", "either")] {
            transcript.step("alice$ printf … | touchstone set \(name) --require \(demand)")
            try await window.run("printf 'secret of \(name)' | touchstone set \(name) --require \(demand)")
                .expect(0)
            transcript.done("stored")
        }
        transcript.step("alice$ touchstone get --show github-token, and touch the sensor")
        let picture = Self.finger.impression(next())
        let (bus, daemon) = (bus, daemon)
        let byFinger = try await window.run("touchstone get --show github-token") { terminal in
            do {
                try await terminal.wait(for: "ouch the fingerprint sensor")
                try await VirtualReader(bus).touch(picture)
            } catch {
                throw Surprise("\(error)\n\(daemon.log)")
            }
        }
        try byFinger.expect(0, containing: "secret of github-token")
        transcript.quote(byFinger.screen)
        transcript.done("released by the finger, which the daemon's account verified")

        transcript.step("alice$ touchstone lock; touchstone get --show mail: the passcode")
        try await window.run("touchstone lock").expect(0)
        let byPasscode = try await window.run("touchstone get --show mail") { terminal in
            try await terminal.wait(for: "Passcode:")
            terminal.press(.text(Self.passcode), .enter)
        }
        try byPasscode.expect(0, containing: "secret of mail")
        transcript.quote(byPasscode.screen)
        transcript.done("released by the passcode")

        transcript.step("alice$ touchstone status")
        let status = try await window.run("touchstone status")
        try status.expect(0, containing: "softwareSystem")
        transcript.quote(status.screen)
        transcript.done("the keys belong to an account that is not hers")
    }

    private mutating func next() -> Int {
        touches += 1
        return touches
    }

    // MARK: Who is refused

    /// Runs a command that must fail, and quotes its output.
    private func refused(
        _ what: String,
        _ script: String,
        as user: SystemModeMachine.Account,
        _ reason: String
    )
        async throws
    {
        let finished = try await machine.run(["/bin/sh", "-c", script], as: user)
        guard finished.status != 0, finished.output.contains(reason) else {
            throw Surprise("\(what) ended with \(finished.status): \(finished.output)")
        }
        transcript.quote("\(what): \(finished.output.split(separator: "\n").last ?? "")")
    }

    private mutating func refuseOthers() async throws {
        transcript.step("bob connects to alice's socket, and looks for her files")
        let socket = "/run/touchstone/\(Self.alice.uid)/socket"
        let connect =
            "use Socket; socket(my $s, AF_UNIX, SOCK_STREAM, 0); connect($s, sockaddr_un(shift)) or die \"$!\\n\""
        try await refused("connect", "perl -e '\(connect)' \(socket)", as: .bob, "Permission denied")
        try await refused("files", "ls \(Self.store)", as: .bob, "Permission denied")
        transcript.done("refused")
    }

    private mutating func refuseAttacker() async throws {
        transcript.step("A program that runs as alice tries what would work in per-user mode")
        let process = daemon.process.processID
        let me = Self.alice
        try await refused("read the store", "cat \(Self.store)/items.sqlite", as: me, "Permission denied")
        try await refused(
            "replace it with an older copy",
            "cp /etc/hostname \(Self.store)/keybag",
            as: me,
            "Permission denied"
        )
        try await refused(
            "read the daemon's memory",
            "head -c 1 /proc/\(process)/mem",
            as: me,
            "Permission denied"
        )
        try await refused(
            "read its environment",
            "cat /proc/\(process)/environ",
            as: me,
            "Permission denied"
        )
        try await refused("end it", "kill -9 \(process)", as: me, "not permitted")
        try await refused(
            "listen in its place",
            "mv /run/touchstone/\(me.uid)/socket /run/touchstone/\(me.uid)/away",
            as: me,
            "Permission denied"
        )
        // The same program, but not the installed file, so it lacks the group.
        let forged = try await window.run(
            "cp \(Installation.agent) $HOME/agent && $HOME/agent --terminal",
            withAgent: false
        )
        guard forged.status == 1, forged.screen.contains("does not take this program for its agent") else {
            throw Surprise("a forged agent ended with \(forged.status): \(forged.screen)")
        }
        transcript.quote(
            "show prompts: "
                + (forged.screen.split(whereSeparator: \.isNewline).first { $0.hasPrefix("error") } ?? "")
        )
        transcript.done("refused, all of it")
    }

    // MARK: The way back

    private mutating func disable() async throws {
        transcript.step("sudo touchstone system disable --user alice")
        // Does what systemctl disable --now does where systemd runs.
        daemon.process.stop(with: SIGTERM)
        machine.closeSockets()
        try FileManager.default.removeItem(atPath: machine.outside("/run/touchstone/\(Self.alice.uid)"))
        let back = try await Self.asRoot(machine, "disable", "--later")
        transcript.quote(back.output)
        transcript.done("the files are hers again")

        transcript.step("alice$ touchstone unlock: a daemon of her own, which starts by itself")
        let settings = machine.home(of: Self.alice) + "/.config/touchstone"
        let made = try await machine.run(
            ["/bin/sh", "-c", "mkdir -p \(settings) && cp /etc/touchstone/touchstoned.conf \(settings)/"],
            as: Self.alice
        )
        guard made.status == 0 else { throw Surprise(made.output) }
        let unlocked = try await window.run("touchstone unlock", withAgent: false) { terminal in
            try await terminal.wait(for: "Passcode:")
            terminal.press(.text(Self.passcode), .enter)
        }
        try unlocked.expect(0)
        transcript.done("unlocked, with the same passcode")

        transcript.step(
            "sudo touchstone system disable --user alice, once more: it checks, and ends the move"
        )
        let ended = try await Self.asRoot(machine, "disable")
        transcript.quote(ended.output)
        guard unsafe access(machine.outside(Self.store), F_OK) != 0 else {
            throw Surprise("the keychain is still in \(Self.store)")
        }
        // A daemon that the client started is not the demo's child, and would outlive it.
        let status = try await window.run("touchstone status", withAgent: false)
        guard let number = status.screen.firstMatch(of: /process (\d+)/).flatMap({ Int32($0.output.1) })
        else {
            throw Surprise("no daemon of alice's own\n\(status.screen)")
        }
        kill(number, SIGTERM)
        try await Deadline.wait(for: "the daemon's end") { ChildProcess.hasEnded(number) ? true : nil }
        transcript.done("nothing is left in \(Self.store)")
    }
}
