import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// The set-gid agent, started by its user in every way that could subvert it.
@Suite(
    "Starting the agent",
    .serialized,
    .enabled(
        if: TerminalPerson.isPossible,
        "needs root, a machine that lets it mount, pinentry-tty, and a built touchstone-agent"
    ),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
)
struct HostileStartTests {
    /// The directory of the C library.
    private static let libraries =
        ["/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64"].first {
            access($0 + "/libc.so.6", F_OK) == 0
        } ?? ""
    /// A library that the daemon needs, but neither `cat` nor the agent.
    private static let library = libraries + "/libsqlite3.so.0"

    /// The way in which the agent is started.
    enum Start: CaseIterable, Sendable {
        case plain, preloaded, otherLibraries, closedStreams
        case openFiles, goneDirectory, hostileVariables, lowLimits

        /// The commands before the agent in the shell's line.
        var before: String {
            switch self {
            case .plain, .closedStreams: ""
            case .preloaded: "export LD_PRELOAD=\(HostileStartTests.library); "
            case .otherLibraries: "export LD_LIBRARY_PATH=$HOME LD_AUDIT=$HOME/audit.so; "
            case .openFiles: "exec 7</etc/passwd 8>$HOME/file 9<>/dev/zero; "
            case .goneDirectory: "mkdir $HOME/gone; cd $HOME/gone; rmdir $HOME/gone; "
            case .hostileVariables:
                "export TOUCHSTONE_HOME=$HOME TOUCHSTONE_DAEMON=/bin/false PATH=$HOME LC_ALL=xx DISPLAY=:77 "
                    + "TERM=$(printf '\\033[2J') SWIFT_BACKTRACE=enable=yes,output-to=$HOME MALLOC_CHECK_=3; "
            case .lowLimits: "ulimit -c unlimited; ulimit -n 16; ulimit -s 512; "
            }
        }

        var after: String { self == .closedStreams ? "<&- >&- 2>&-" : "</dev/null >/dev/null 2>&1" }
    }

    /// The system call number of ptrace(2), whose request 16 attaches.
    private static var ptrace: Int {
        #if arch(arm64)
            117
        #else
            101
        #endif
    }

    private func descriptors(of process: Int32) -> [Int: String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(process)/fd")) ?? []
        var found: [Int: String] = [:]
        for name in names.compactMap(Int.init) {
            let path = "/proc/\(process)/fd/\(name)"
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: path)
            if let target { found[name] = target }
        }
        return found
    }

    private func text(_ name: String, of process: Int32) throws -> String {
        try String(contentsOfFile: "/proc/\(process)/\(name)", encoding: .utf8)
    }

    @Test("the agent inherits no library, descriptor, directory or limit, and cannot be inspected")
    func starts() async throws {
        let machine = try await SystemModeMachine.start(
            configuration: TerminalPerson.settings + [
                "tpm = off", "biometry = off", "pinentry-program = \(TerminalPerson.pinentry)",
            ]
        )
        try machine.installAgent()
        let daemon = try await machine.startDaemon(for: .alice)
        // Control: an ordinary program loads the library.
        let preloaded = "LD_PRELOAD=\(Self.library) cat /proc/self/maps"
        let control = try await machine.run(["/bin/sh", "-c", preloaded], as: .alice)
        #expect(control.output.contains("libsqlite3"), "\(control.output)")
        let found = "cp \(Self.libraries)/libc.so.6 $HOME; LD_LIBRARY_PATH=$HOME cat /proc/self/maps"
        let other = try await machine.run(["/bin/sh", "-c", found], as: .alice)
        #expect(other.output.contains(machine.home(of: .alice) + "/libc.so.6"), "\(other.output)")
        for start in Start.allCases {
            let alice = try TerminalPerson(on: machine)
            let session = try await machine.startSession(
                "(\(start.before)exec \(SystemModeMachine.agent) --terminal \(start.after)) & read line",
                on: alice.terminal,
                as: .alice
            )
            let agent = try await Deadline.wait(for: "\(start): the agent") { alice.agents.first }
            // Its connection and its signal descriptor: it has registered, or will.
            try await Deadline.wait(for: "\(start): its connection") {
                #expect(alice.agents == [agent], "\(start): it ended: \(alice.terminal.text)")
                return descriptors(of: agent).values.contains { $0.hasPrefix("socket:") } ? true : nil
            }
            let maps = try text("maps", of: agent)
            #expect(!maps.contains("libsqlite3") && !maps.contains(machine.home(of: .alice)), "\(start)")
            let open = descriptors(of: agent)
            // If the streams were closed, the C library opened the first one on /dev/full before.
            let empty = ["/dev/null", start == .closedStreams ? "/dev/full" : "/dev/null"]
            for descriptor in 0..<3 {
                #expect(open[descriptor].map(empty.contains) == true, "\(start): \(open)")
            }
            #expect(!open.values.contains { $0.hasPrefix("/") && !empty.contains($0) }, "\(start): \(open)")
            let place = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(agent)/cwd")
            #expect(place == "/", "\(start)")
            let status = try text("status", of: agent)
            let group = SystemModeMachine.Group.agent
            #expect(status.contains("Gid:\t\(user)\t\(group)\t\(group)\t\(group)\n"), "\(start): \(status)")
            #expect(status.contains("NoNewPrivs:\t1"), "\(start)")
            let limits = try text("limits", of: agent)
            let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") }
            #expect(core?.split(separator: " ").dropFirst(4).prefix(2) == ["0", "0"], "\(start): \(limits)")
            try await expectClosed(agent, to: machine)
            session.stop()
            try await alice.expectNoAgent()
        }
        withExtendedLifetime(daemon) {}
    }

    private var user: UInt32 { SystemModeMachine.Account.alice.uid }

    /// Expects that the agent's own user can neither read its memory, environment and descriptors nor trace
    /// it.
    private func expectClosed(_ agent: Int32, to machine: SystemModeMachine) async throws {
        let script = """
            for my $name (qw(mem environ maps)) {
                print "opened $name\\n" if open(F, '<', "/proc/$ARGV[0]/$name");
            }
            print "listed\\n" if opendir(D, "/proc/$ARGV[0]/fd") && readdir(D);
            print "linked\\n" if readlink("/proc/$ARGV[0]/exe");
            print "traced\\n" if syscall(\(Self.ptrace), 16, $ARGV[0] + 0, 0, 0) == 0;
            print "done\\n";
            """
        let tried = try await machine.run(["/usr/bin/perl", "-e", script, "\(agent)"], as: .alice)
        #expect(tried.output == "done\n", "\(tried.output)")
        // Control: another program of alice's is fully readable.
        let sleeper = try await machine.start(
            ["/bin/sleep", "1000"],
            as: .alice,
            log: machine.directory.appending("sleeper.log")
        )
        let control = try await Deadline.wait(for: "the sleeper") { () -> String? in
            let run = try await machine.run(
                ["/usr/bin/perl", "-e", script, "\(sleeper.processID)"],
                as: .alice
            )
            return run.output.contains("linked") ? run.output : nil
        }
        #expect(control.contains("opened maps") && control.contains("listed"), "\(control)")
        sleeper.stop()
    }

    @Test("the prompt program lacks the agent's group, and the daemon refuses another user's agent")
    func others() async throws {
        let machine = try await SystemModeMachine.start(
            configuration: TerminalPerson.settings + [
                "tpm = off", "biometry = off", "pinentry-program = \(TerminalPerson.pinentry)",
            ]
        )
        try machine.installAgent()
        let daemon = try await machine.startDaemon(for: .alice)
        let alice = try TerminalPerson(on: machine)
        let setUp = try await alice.start("setup")
        try await alice.terminal.wait(for: "Passcode:")
        let agent = try #require(alice.agents.first)
        let box = try await Deadline.wait(for: "the program that draws") { () -> Int32? in
            let names = try FileManager.default.contentsOfDirectory(atPath: "/proc").compactMap(Int32.init)
            return names.first { (try? text("status", of: $0))?.contains("PPid:\t\(agent)\n") == true }
        }
        let status = try text("status", of: box)
        #expect(status.contains("Gid:\t\(user)\t\(user)\t\(user)\t\(user)\n"), "\(status)")
        alice.terminal.press(.endOfFile)
        #expect(try await alice.end(of: setUp) == 4)

        // As if bob could reach alice's daemon, with the socket open to all.
        let bob = SystemModeMachine.Account.bob
        let lead = "cd /run/touchstone && mkdir \(bob.uid) && mount --bind \(user) \(bob.uid)"
        let way = try await machine.run(["/bin/sh", "-c", lead], as: .root)
        #expect(way.status == 0, "\(way.output)")
        chmod(machine.outside("/run/touchstone/\(user)/socket"), 0o666)
        let person = try TerminalPerson(on: machine, as: .bob)
        let session = try await machine.startSession(
            "\(SystemModeMachine.agent) --terminal; echo \"ended with $?\"",
            on: person.terminal,
            as: .bob
        )
        #expect(try await person.end(of: session) == 1, "\(person.terminal.text)")
        let lines = try await daemon.expectLogged("clientRefused")
        let isBob = { (line: Substring) in line.contains("uid=\"\(bob.uid)\"") }
        #expect(lines.contains { $0.contains("another user") && isBob($0) }, "\(lines)")
    }
}
