import BrokerProtocol
import Foundation
import Glibc
import Testing
import TouchstoneTesting

@Suite(
    "Sandboxes of system mode's units",
    .serialized,
    .enabled(if: UnitSandbox.isPossible, "\(UnitSandbox.needs)")
)
struct UnitSandboxTests {
    private static let unit = "touchstoned@.service"
    private static let alice = SystemModeMachine.Account.alice

    /// What a program of the daemons' account can do, one `name=value` per line.
    private static let probes = """
        try() { name=$1; shift; "$@" >/dev/null 2>&1 && echo "$name=done" || echo "$name=refused"; }
        for field in CapBnd NoNewPrivs Seccomp; do
            echo "$field=$(sed -n "s/^$field:[[:space:]]*//p" /proc/self/status)"
        done
        for space in net ipc uts; do echo "$space=$(readlink /proc/self/ns/$space)"; done
        echo "stores=$(echo $(ls /var/lib/touchstone))"
        echo "core=$(ulimit -H -c)"
        try root ls -d /proc/1
        try home ls /home
        try etc sh -c '! touch /etc/probe 2>&1 | grep -q "Read-only"'
        try inet perl -MSocket -e 'socket(my $s, AF_INET, SOCK_STREAM, 0) or exit 1'
        try unix perl -MSocket -e 'socket(my $s, AF_UNIX, SOCK_STREAM, 0) or exit 1'
        try nice perl -e 'setpriority(0, 0, 19) or exit 1'
        try writable python3 -c 'import mmap; mmap.mmap(-1, 4096, prot=7)'
        try store sh -c "touch /var/lib/touchstone/$1/probe"
        try setgid chmod 2700 /var/lib/touchstone/$1/probe
        try boot cat /proc/sys/kernel/random/boot_id
        """

    private static func probe(
        _ machine: SystemModeMachine,
        _ wrapper: [String],
        as account: SystemModeMachine.Account
    ) async throws -> [String: String] {
        let finished = try await machine.run(
            wrapper + ["/bin/sh", "-c", probes, "sh", "\(alice.uid)"],
            as: account
        )
        #expect(finished.status == 0, "\(finished.output)")
        let lines = finished.output.split(separator: "\n").map { $0.split(separator: "=", maxSplits: 1) }
        return Dictionary(lines.map { (String($0[0]), String($0.last ?? "")) }) { first, _ in first }
    }

    @Test("a program in the daemon's unit can do what the daemon needs and nothing else")
    func daemon() async throws {
        let machine = try await SystemModeMachine.start()
        for user in [Self.alice, .bob] { _ = try machine.listen(for: user) }
        let sandbox = try UnitSandbox(shipped: Self.unit, instance: "\(Self.alice.uid)")
        let inside = try await Self.probe(machine, try sandbox.wrapper(in: machine.directory), as: .root)
        let without = try await Self.probe(machine, [], as: .touchstone)
        let refused = ["root", "home", "etc", "inet", "nice", "writable", "setgid"]
        for name in refused {
            #expect(inside[name] == "refused", "\(name): \(inside)")
            #expect(without[name] == "done", "\(name): \(without)")
        }
        for name in ["unix", "store", "boot"] { #expect(inside[name] == "done", "\(name): \(inside)") }
        for name in ["net", "ipc", "uts"] { #expect(inside[name] != without[name]) }
        #expect(inside["CapBnd"] == "0000000000000000" && without["CapBnd"] != inside["CapBnd"])
        #expect(inside["NoNewPrivs"] == "1" && without["NoNewPrivs"] != nil)
        #expect(inside["Seccomp"] == "2")
        #expect(inside["core"] == "0")
        #expect(inside["stores"] == "\(Self.alice.uid)")
        #expect(without["stores"] == "\(Self.alice.uid) \(SystemModeMachine.Account.bob.uid)")
    }

    /// Starts alice's daemon in a sandbox with these lines, and waits until it listens or ends.
    private static func start(_ lines: [Substring]) async throws -> (ended: Int32?, log: String) {
        let machine = try await SystemModeMachine.start(
            configuration: ScriptedOwner.settings + ["biometry = off"]
        )
        let sandbox = UnitSandbox(lines.joined(separator: "\n") + "\n", instance: "\(alice.uid)")
        let log = machine.directory.appending("daemon.log")
        let process = try await machine.start(
            try sandbox.wrapper(in: machine.directory, listens: true) + [
                SystemModeMachine.programs + "/touchstoned", "--foreground", "--owner", "\(alice.uid)",
            ],
            as: .root,
            input: try machine.listen(for: alice),
            log: log
        )
        return try await Deadline.wait(for: "the daemon") {
            let text = try String(contentsOfFile: log, encoding: .utf8)
            if text.contains(" listening ") {
                let status = try await machine.run([SystemModeMachine.command, "status"], as: alice)
                #expect(status.status == 0, "\(status.output)")
                return (nil, text)
            }
            guard ChildProcess.hasEnded(process.processID) else { return nil }
            // Its output since then is the whole log.
            return (try await process.waitUntilEnd(), try String(contentsOfFile: log, encoding: .utf8))
        }
    }

    @Test("a filter that kills ends the daemon at its first filtered call, which proves the filter's effect")
    func control() async throws {
        let shipped = try ShippedFiles.text(Self.unit).split(separator: "\n")
        #expect(try await Self.start(shipped).ended == nil)
        let killing = shipped.filter { !$0.hasPrefix("SystemCallErrorNumber=") }
        #expect(killing.contains { $0.hasPrefix("SystemCallFilter=~") && $0.contains("@resources") })
        let killed = try await Self.start(killing)
        #expect(killed.ended.map { $0 & 0x7F } == SIGSYS, "\(killed)")
        // It is the only filtered call: threads set their priority.
        let allowed = try await Self.start(killing + ["[Service]", "SystemCallFilter=setpriority"])
        #expect(allowed.ended == nil, "\(allowed)")
    }

    @Test(
        "an unsupported line ends the start",
        arguments: [
            "NoSuchLine=yes", "PrivateUsers=yes", "ProtectSystem=full", "NoNewPrivileges=perhaps",
            "SystemCallFilter=@no-such-set", "CapabilityBoundingSet=CAP_NO_SUCH",
        ]
    )
    func unknown(line: String) async throws {
        let lines = try ShippedFiles.text(Self.unit).split(separator: "\n")
        let refused = try await Self.start(lines + ["[Service]", Substring(line)])
        #expect(refused.ended == 2 << 8, "\(refused)")
        #expect(refused.log.contains("unit-sandbox: "), "\(refused)")
    }

    @Test("the broker in its unit names a user's program and digests templates, with one capability")
    func broker() async throws {
        let machine = try await SystemModeMachine.start()
        let shipped = try ShippedFiles.text("touchstone-broker.service")
        let process = try await machine.start(
            ["/bin/sleep", "600"],
            as: Self.alice,
            log: machine.directory.appending("sleep")
        )
        let sleep = URL(fileURLWithPath: "/bin/sleep").resolvingSymlinksInPath().path
        try await Deadline.wait(for: "the user's program") {
            let link = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/\(process.processID)/exe"
            )
            return link == sleep ? true : nil
        }
        for directory in ["", "/alice", "/alice/driver", "/alice/driver/0"] {
            _ = try machine.directory.makeDirectory("templates" + directory)
        }
        _ = try machine.directory.write("template", to: "templates/alice/driver/0/7")
        let (broker, _) = try await Self.broker(shipped, machine)
        // It listens before it executes the program.
        let program = URL(fileURLWithPath: Programs.directory + "/touchstone-broker")
            .resolvingSymlinksInPath()
        try await Deadline.wait(for: "the broker") {
            let link = try? FileManager.default.destinationOfSymbolicLink(
                atPath: "/proc/\(broker.processID)/exe"
            )
            return link == program.path ? true : nil
        }
        let named = try await Self.ask(.identify, of: process.processID, machine)
        #expect(named.text(.path) == sleep && named.number(.namespaces) == 1, "\(named)")
        let enrolment = try await Self.ask(.enrolment(uid: Self.alice.uid), machine)
        #expect(enrolment.number(.count) == 1 && enrolment.bytes(.digest)?.count == 32, "\(enrolment)")
        let status = try String(contentsOfFile: "/proc/\(broker.processID)/status", encoding: .utf8)
        for set in ["CapPrm", "CapEff", "CapBnd"] { #expect(status.contains("\(set):\t0000000000080000")) }
        #expect(status.contains("NoNewPrivs:\t1") && status.contains("Seccomp:\t2"))
        #expect(try Self.space("net", of: "\(broker.processID)") != Self.space("net", of: "self"))
        broker.stop()
        // Control: without the capability the broker fails.
        let without = shipped.replacing(
            "CapabilityBoundingSet=CAP_SYS_PTRACE",
            with: "CapabilityBoundingSet="
        )
        #expect(without != shipped)
        let (powerless, log) = try await Self.broker(without, machine)
        let wait = try await powerless.waitUntilEnd()
        let said = try String(contentsOfFile: log, encoding: .utf8)
        #expect(wait == 1 << 8 && said.contains("the capabilities cannot be dropped"), "\(wait) \(said)")
    }

    private static func space(_ name: String, of process: String) throws -> String {
        try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/ns/\(name)")
    }

    /// The broker in a sandbox with these lines, on the socket of its socket unit.
    static func broker(
        _ unit: String,
        _ machine: SystemModeMachine,
        options: [String] = ["--all-users"]
    ) async throws -> (process: ChildProcess, log: String) {
        let listen = """
            import os, pwd, socket, sys
            path = "/run/touchstone-broker/socket"
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if os.path.exists(path): os.unlink(path)
            listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            listener.bind(path)
            os.chmod(path, 0o600)
            os.chown(path, pwd.getpwnam("touchstone").pw_uid, 0)
            listener.listen(16)
            os.dup2(listener.fileno(), 0)
            os.execv(sys.argv[1], sys.argv[1:])
            """
        let log = machine.directory.appending("broker-\(UUID().uuidString).log")
        let machinesOwn = machine.outside("").split(separator: "/")[1]
        let process = try await machine.start(
            ["/usr/bin/python3", "-c", listen]
                + UnitSandbox(unit).wrapper(in: machine.directory, listens: true) + [
                    Programs.directory + "/touchstone-broker", "--machine", "\(machinesOwn)",
                    "--template-directory", machine.directory.appending("templates"),
                ] + options,
            as: .root,
            log: log
        )
        return (process, log)
    }

    /// Sends the broker a request as the daemons' account.
    private static func ask(
        _ request: BrokerRequest,
        of process: Int32 = 0,
        _ machine: SystemModeMachine
    ) async throws -> BrokerReply {
        let script = """
            import os, socket, sys
            peer = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            peer.connect("/run/touchstone-broker/socket")
            handles = [os.pidfd_open(int(sys.argv[2]))] if sys.argv[2] != "0" else []
            socket.send_fds(peer, [bytes.fromhex(sys.argv[1])], handles)
            print(peer.recv(1 << 16).hex())
            """
        let packet = request.packet.map { String(format: "%02x", $0) }.joined()
        let finished = try await machine.run(
            ["/usr/bin/python3", "-c", script, packet, "\(process)"],
            as: .touchstone
        )
        #expect(finished.status == 0, "\(finished.output)")
        let digits = Array(finished.output.trimmingCharacters(in: .whitespacesAndNewlines))
        let octets = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(digits[$0...$0 + 1]), radix: 16)
        }
        return try #require(BrokerReply(packet: octets), "\(finished.output)")
    }
}
