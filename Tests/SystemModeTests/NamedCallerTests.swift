import Foundation
import Glibc
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite(
    "Naming programs in system mode",
    .serialized,
    .enabled(
        if: SystemModeMachine.isPossible && SystemModeMachine.hasBroker,
        "needs root, and a machine that lets it mount: unshare, nsenter, setpriv"
    )
)
struct NamedCallerTests {
    private static let command = SystemModeMachine.command

    /// A machine with alice's keychain and programs.
    private struct Home {
        let person: ScriptedOwner
        let machine: SystemModeMachine
        let daemon: SystemDaemon
        let broker: SystemBroker
        /// Alice's copy of the command.
        let copy: String

        init(_ settings: [String] = []) async throws {
            person = try ScriptedOwner()
            machine = try await SystemModeMachine.start(
                configuration: ScriptedOwner.settings + settings + [
                    "biometry = off", person.setting,
                ]
            )
            broker = try await machine.startBroker()
            daemon = try await machine.startDaemon(for: .alice)
            copy = machine.home(of: .alice) + "/copy"
            let copied = try await machine.run(["/bin/cp", NamedCallerTests.command, copy], as: .alice)
            #expect(copied.status == 0, "\(copied.output)")
            let setUp = try await run([NamedCallerTests.command, "setup"])
            #expect(setUp.status == 0, "\(setUp.output)")
        }

        func run(_ command: [String], input: String = "") async throws -> Finished {
            try await machine.run(command, as: .alice, environment: person.environment, input: input)
        }

        func set(_ name: String, by program: String) async throws {
            let added = try await run([program, "set", name, "--require", "none"], input: "secret")
            #expect(added.status == 0, "\(added.output)")
        }

        /// The names of the secrets visible to a program.
        func list(by command: [String]) async throws -> String {
            let list = try await run(command + ["list"])
            #expect(list.status == 0, "\(list.output)")
            return list.output
        }
    }

    @Test("programs are named by their file: the command, a copy, and a file mounted over the command's path")
    func names() async throws {
        let home = try await Home()
        try await home.set("of-the-command", by: Self.command)
        try await home.set("of-the-copy", by: home.copy)
        let own = try await home.list(by: [Self.command])
        #expect(own.contains("of-the-command") && !own.contains("of-the-copy"), "\(own)")
        let copied = try await home.list(by: [home.copy])
        #expect(copied.contains("of-the-copy") && !copied.contains("of-the-command"), "\(copied)")
        let apps = try await home.run([Self.command, "apps", "list"])
        #expect(apps.output.contains(home.copy), "\(apps.output)")
        let log = home.daemon.log
        #expect(log.contains("program=\"\(Self.command)\"") && log.contains("program=\"\(home.copy)\""))
        #expect(!log.contains("program=\"unknown\"") && !log.contains("brokerLost"))
        // A file without a name is an unknown program.
        func nameless(_ arguments: String, input: String = "") async throws -> Finished {
            let script =
                "cp \(home.copy) \(home.copy)2; exec 9<\(home.copy)2; rm \(home.copy)2; exec /proc/self/fd/9 \(arguments)"
            return try await home.run(["/bin/sh", "-c", script], input: input)
        }
        let stored = try await nameless("set of-nobody --require none", input: "secret")
        #expect(stored.status == 0, "\(stored.output)")
        // Another program's file mounted over the command's path, as any user can in a namespace. It finds
        // the secret of an unknown program, and none of the command's.
        let place = home.machine.home(of: .alice)
        let python = place + "/python"
        let cloned = try await home.run(["/bin/cp", "--dereference", "/usr/bin/python3", python])
        #expect(cloned.status == 0, "\(cloned.output)")
        let socket = "/run/touchstone/\(SystemModeMachine.Account.alice.uid)/socket"
        let ask =
            [Self.command, "-c", Self.script, "asks", socket, "-", place + "/asked", place + "/go"]
            + (try Self.frames(3))
        func released() -> [Substring] {
            home.daemon.log.split(separator: "\n").filter { $0.contains("copy genp") }
        }
        let before = released().count
        let bind = "mount --bind '\(python)' \(Self.command) && PYTHONHOME=/usr exec \"$@\""
        let disguised = try await home.run(
            [
                "/usr/bin/unshare", "--user", "--map-current-user", "--keep-caps", "--mount", "/bin/sh", "-c",
                bind, "sh",
            ] + ask
        )
        // Some machines allow users no namespaces.
        if !disguised.output.contains("unshare: ") {
            #expect(disguised.output.contains("done"), "\(disguised.output)")
            let seen = try await Deadline.wait(for: "the release in the log") {
                released().count > before ? released().dropFirst(before) : nil
            }
            #expect(seen.count == 1 && seen.allSatisfy { $0.contains("program=\"unknown\"") }, "\(seen)")
        }
        let deleted = try await nameless("list")
        let names = deleted.output
        #expect(names.contains("of-nobody") && !names.contains("of-the-"), "\(names)")
    }

    @Test(
        "another user's 400 mounts change no program's name",
        .enabled(if: ShippedFiles.isProgram("/usr/bin/python3"))
    )
    func mounts() async throws {
        let home = try await Home()
        try await home.set("of-before", by: home.copy)
        try await home.set("of-the-command", by: Self.command)
        let place = home.machine.home(of: .bob) + "/mounts"
        let mounted = try await home.machine.run(["/usr/bin/python3", "-c", Self.mounting, place], as: .root)
        #expect(mounted.status == 0, "\(mounted.output)")
        let size = mounted.output.split(separator: "\n").last.flatMap { Int($0) } ?? 0
        #expect(size > 4 << 20, "\(mounted.output)")
        try await home.set("of-after", by: home.copy)
        let copied = try await home.list(by: [home.copy])
        #expect(copied.contains("of-before") && copied.contains("of-after"), "\(copied)")
        let own = try await home.list(by: [Self.command])
        #expect(own.contains("of-the-command") && !own.contains("of-after"), "\(own)")
        #expect(!home.daemon.log.contains("program=\"unknown\""), "\(home.daemon.log)")
    }

    /// Mounts 400 times on a long name of spaces, which have four characters each in mountinfo; prints its size.
    private static let mounting = """
        import ctypes, os, sys
        libc = ctypes.CDLL(None, use_errno=True)
        def mount(source, target, kind, flags):
            if libc.mount(source.encode(), target.encode(), kind.encode(), flags, None) != 0:
                raise OSError(ctypes.get_errno(), target)
        path = sys.argv[1]
        os.mkdir(path)
        mount("long", path, "tmpfs", 0)
        while len(path) < 3000:
            path += "/" + " " * 250
            os.mkdir(path)
        for number in range(400):
            mount(path, path, "", 4096)
        print(len(open("/proc/self/mountinfo").read()))
        """

    @Test(
        "without the broker programs are refused, status and doctor report it, and later they are named again"
    )
    func away() async throws {
        let home = try await Home()
        try await home.set("of-the-command", by: Self.command)
        #expect(try await home.list(by: [Self.command]).contains("of-the-command"))
        let well = try await home.run([Self.command, "status"])
        #expect(!well.output.contains("Broker"), "\(well.output)")
        home.broker.stop()
        // Nothing is reported missing, and nothing is stored where its program would not find it again.
        let requests = [
            ["get", "of-the-command"], ["list"], ["delete", "of-the-command", "--yes"], ["set", "new"],
        ]
        for arguments in requests {
            for program in [Self.command, home.copy] {
                let refused = try await home.run([program] + arguments, input: "secret")
                #expect(refused.status == 7, "\(arguments): \(refused.output)")
                #expect(refused.output.contains("touchstone-broker does not answer"), "\(refused.output)")
                #expect(refused.output.contains("hint: as root: systemctl start"), "\(refused.output)")
            }
        }
        try await home.daemon.expectLogged("copyItems -25291 broker away")
        // Requests that need no name are served.
        let locked = try await home.run([Self.command, "lock"])
        #expect(locked.status == 0, "\(locked.output)")
        let unlocked = try await home.run([Self.command, "unlock"])
        #expect(unlocked.status == 0, "\(unlocked.output)")
        let status = try await home.run([Self.command, "status"])
        #expect(status.status == 0)
        #expect(status.output.contains("touchstone-broker does not answer"), "\(status.output)")
        #expect(status.output.contains("systemctl start touchstone-broker.socket"), "\(status.output)")
        let json = try await home.run([Self.command, "status", "--json"])
        #expect(json.output.contains("\"brokerFault\": \"broker: away: "), "\(json.output)")
        let doctor = try await home.run([Self.command, "doctor"])
        #expect(doctor.status != 0 && doctor.output.contains("broker"), "\(doctor.output)")
        #expect(try await home.daemon.expectLogged("brokerLost").count == 1)
        let again = try await home.machine.startBroker()
        let found = try await home.list(by: [Self.command])
        #expect(found.contains("of-the-command") && !found.contains("new"), "\(found)")
        let back = try await home.run([Self.command, "status", "--json"])
        #expect(back.output.contains("\"brokerFault\": null"), "\(back.output)")
        withExtendedLifetime(again) {}
    }

    @Test(
        "a broker of another user is not used",
        arguments: ["test.broker-uid = 64811", "test.broker-socket = /run/nowhere"]
    )
    func foreign(setting: String) async throws {
        let home = try await Home([setting])
        let refused = try await home.run([Self.command, "list"])
        #expect(refused.status == 7, "\(refused.output)")
        let status = try await home.run([Self.command, "status", "--json"])
        let reason = setting.contains("uid") ? "the socket is user 0's" : "connect: No such file"
        #expect(status.output.contains(reason), "\(status.output)")
    }

    @Test(
        "programs are named when they connect, and one that executes another program becomes unknown",
        .enabled(if: ShippedFiles.isProgram("/usr/bin/python3"), "needs python3"),
        arguments: Trick.allCases
    )
    func connection(trick: Trick) async throws {
        let home = try await Home()
        let python = URL(fileURLWithPath: "/usr/bin/python3").resolvingSymlinksInPath().path
        // From now on the broker does not answer.
        let ready = home.machine.home(of: .alice) + "/ready"
        let go = home.machine.home(of: .alice) + "/go"
        let frames = try Self.frames(102)
        let socket = "/run/touchstone/\(SystemModeMachine.Account.alice.uid)/socket"
        let log = home.machine.directory.appending("client.log")
        let process = try await home.machine.start(
            [python, "-c", Self.script, trick.rawValue, socket, home.copy, ready, go] + frames,
            as: .alice,
            log: log
        )
        func said() -> String { (try? String(contentsOfFile: log, encoding: .utf8)) ?? "" }
        try await Deadline.wait(for: "the first answer: \(said())") {
            access(ready, F_OK) == 0 ? true : nil
        }
        home.broker.halt()
        let asked = ContinuousClock.now
        #expect(creat(go, 0o644) >= 0)
        try await Deadline.wait(for: "its end: \(said())") { said().contains("done") ? true : nil }
        let passed = ContinuousClock.now - asked
        process.stop()
        home.broker.goOn()
        let text = "another program on the connection of \(python)"
        switch trick {
        case .stays:
            // An unanswered question to the broker takes a second.
            #expect(passed < .seconds(90), "100 requests took \(passed)")
            #expect(!home.daemon.log.contains(text))
        case .executesItself, .executesAnother, .lends: try await home.daemon.expectLogged(text)
        }
    }

    /// What a program does between two requests.
    enum Trick: String, CaseIterable, Sendable {
        case stays, executesItself, executesAnother, lends
    }

    /// A hello and look-ups, as `count` hexadecimal frames.
    private static func frames(_ count: UInt64) throws -> [String] {
        try ([hello()] + (2...count).map(question)).map { frame in
            frame.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
    }

    private static func framed(_ message: borrowing SecretBuffer) -> [UInt8] {
        let octets = message.withUnsafeBytes { Array($0) }
        return (0..<4).reversed().map { UInt8(truncatingIfNeeded: octets.count >> (8 * $0)) } + octets
    }

    private static func hello() throws -> [UInt8] {
        framed(
            try RequestHead(id: 1, method: .hello).message(
                Hello(nonce: [UInt8](repeating: 0xA5, count: Greeting.nonceOctetCount))
            )
        )
    }

    private static func question(_ number: UInt64) throws -> [UInt8] {
        framed(
            try RequestHead(id: number, method: .copyItems).message(
                CopyItems(
                    query: ItemQuery(
                        itemClass: .genericPassword,
                        attributes: [:],
                        limit: .one,
                        returns: .data
                    ),
                    context: nil,
                    prompt: PromptFields(reason: "test", interactionAllowed: false)
                )
            )
        )
    }

    private static let script = #"""
        import os, socket, sys, time
        mode, path, other, ready, go = sys.argv[1:6]
        hello, first, second, *rest = [bytes.fromhex(text) for text in sys.argv[6:]]
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(120)
        client.connect(path)
        def frame():
            def octets(count):
                data = b""
                while len(data) < count:
                    part = client.recv(count - len(data))
                    if not part:
                        sys.exit("closed")
                    data += part
                return data
            return octets(int.from_bytes(octets(4), "big"))
        def ask(message):
            client.sendall(message)
            frame()
        greeting = frame()
        start = greeting.index(b"\x50") + 1
        ask(hello.replace(b"\xa5" * 16, greeting[start:start + 16]))
        ask(first)
        open(ready, "w").close()
        if mode == "asks":
            print("done", flush=True)
            sys.exit(0)
        while not os.path.exists(go):
            time.sleep(0.01)
        if mode == "stays":
            for question in [second] + rest:
                ask(question)
            print("done", flush=True)
        elif mode == "lends":
            if os.fork() == 0:
                ask(second)
                print("done", flush=True)
        else:
            os.set_inheritable(client.fileno(), True)
            if mode == "executesAnother":
                # A shell that has the descriptor, and speaks by it.
                text = "".join("\\%03o" % octet for octet in second)
                os.dup2(client.fileno(), 7)
                os.execv("/bin/sh", ["sh", "-c", f"printf '{text}' >&7; sleep 1; echo done; sleep 60"])
            code = ("import sys, socket, time\n"
                f"client = socket.socket(fileno={client.fileno()})\nclient.setblocking(True)\n"
                f"client.sendall(bytes.fromhex('{second.hex()}'))\n"
                "client.recv(1)\n"
                "print('done', flush=True)\ntime.sleep(60)\n")
            os.execv(sys.executable, [sys.executable, "-c", code])
        time.sleep(60)
        """#
}
