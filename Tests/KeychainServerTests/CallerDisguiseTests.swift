import CBOR
import Desk
import Foundation
import Glibc
import KeychainModel
import KeychainServer
import PeerSockets
import Testing
import TouchstoneTesting

@Suite(
    "Programs that impersonate another",
    .serialized,
    .enabled(if: Disguise.isPossible, "needs root, python3 and unshare")
)
struct CallerDisguiseTests {
    /// How a program tries to be taken for the trusted program; passed as its first argument.
    enum Trick: String, CaseIterable, Sendable {
        /// Mounts itself over the trusted path, in its own mount namespace.
        case mount
        /// The same in a new user namespace, which needs no privilege.
        case mountAsAnybody
        /// Runs the trusted program in a user namespace whose environment it controls.
        case userNamespace
        /// Runs from a deleted file.
        case deleted
        /// Runs from a file that is then replaced.
        case replaced
        /// Connects, has a child keep the socket, and executes the trusted program.
        case execAtOnce
        /// Says hello, sends a request, and executes the trusted program with the socket open.
        case execLater
        /// Is the trusted program, and passes its socket to a child.
        case lends
        /// Is the trusted program, and ends while a child has the socket.
        case ends
    }

    @Test(
        "an impersonating program never gets another's group and is treated as unknown",
        arguments: Trick.allCases
    )
    func tricks(trick: Trick) async throws {
        let disguise = try await Disguise()
        for _ in 0..<(trick == .mountAsAnybody ? CaseSize.of(10, full: 200) : 1) {
            let groups = try await disguise.groups(seenFrom: trick)
            #expect(!groups.isEmpty, "\(disguise.log)")
            // What it requested under its own identity before does not matter.
            #expect(groups.last == ["unknown"], "\(groups)")
            let isTrusted = trick == .lends || trick == .ends
            #expect(isTrusted || !groups.contains { $0.contains("touchstone") }, "\(groups)")
        }
    }

    @Test("a program that asks twice, or whose first thread has ended, keeps its identity")
    func control() async throws {
        let disguise = try await Disguise()
        #expect(try await disguise.groups(seenFrom: nil) == [["touchstone"], ["touchstone"]])
        #expect(try await disguise.groups(of: "threads", in: []) == [["touchstone"], ["touchstone"]])
    }

    @Test("an impersonation is logged, and earlier authentications no longer count")
    func told() async throws {
        let disguise = try await Disguise()
        _ = try await disguise.groups(seenFrom: .lends)
        let event = disguise.server.audit.events.first { $0.kind == .clientRefused }
        #expect(event?.detail == "another program on the connection of \(disguise.trusted)")
        #expect(event?.caller?.displayName == "an unknown program")
    }
}

/// A trusted program and its impersonators; all are copies of python3.
private final class Disguise {
    static let python = "/usr/bin/python3"
    static var isPossible: Bool {
        access(python, X_OK) == 0 && access("/usr/bin/unshare", X_OK) == 0 && geteuid() == 0
    }

    let server: TestServer
    let trusted: String
    private let own: String
    private let directory: TemporaryDirectory
    private let layout: Layout

    var log: String { (try? String(contentsOfFile: directory.appending("log"), encoding: .utf8)) ?? "" }

    init() async throws {
        directory = try TemporaryDirectory()
        trusted = directory.appending("trusted")
        own = directory.appending("own")
        for path in [trusted, own] {
            // Copied by a child process: a program that another test starts at this moment would inherit the
            // descriptor open for writing, and a file open for writing cannot be executed (ETXTBSY).
            let copy = try await Finished.running(["/bin/cp", "--dereference", Self.python, path])
            #expect(copy.status == 0)
        }
        let path = directory.path
        layout = try #require(Layout(variable: { $0 == "TOUCHSTONE_HOME" ? path : nil }))
        server = try TestServer(identity: ClientIdentity(ownProgram: trusted))
        try server.server.start(try Listener(at: layout))
        _ = try directory.write(Self.script, to: "client.py")
    }

    /// The groups of each look-up while a program plays a trick, or none.
    func groups(seenFrom trick: CallerDisguiseTests.Trick?) async throws -> [[String]] {
        let over = "mount --bind \(own) \(trusted) && exec \"$@\""
        switch trick {
        case .mount, .mountAsAnybody:
            let namespaces = trick == .mount ? "-m" : "-Urm"
            return try await groups(
                of: "plain",
                in: ["/usr/bin/unshare", namespaces, "sh", "-c", over, "sh"]
            )
        case .userNamespace: return try await groups(of: "plain", in: ["/usr/bin/unshare", "-U"])
        case .deleted, .replaced:
            defer { try? FileManager.default.copyItem(atPath: own, toPath: trusted) }
            return try await groups(of: trick?.rawValue ?? "", in: [])
        case .execAtOnce, .execLater:
            return try await groups(of: trick?.rawValue ?? "", in: [], program: own)
        case .lends, .ends: return try await groups(of: trick?.rawValue ?? "", in: [])
        case nil: return try await groups(of: "plain", in: [])
        }
    }

    func groups(of mode: String, in wrapper: [String], program: String? = nil) async throws -> [[String]] {
        let before = server.vault.calls.count
        unlink(directory.appending("log"))
        let hello = TestClient.frame(
            RequestHead(id: 1, method: .hello),
            Hello(nonce: [UInt8](repeating: 0xA5, count: Greeting.nonceOctetCount))
        )
        let asks = (2...3).map {
            TestClient.frame(RequestHead(id: $0, method: .copyItems), CopyItems.passwords())
        }
        let command =
            wrapper + [program ?? trusted, directory.appending("client.py"), mode, layout.socket, trusted]
            + ([hello] + asks).map { frame in
                frame.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            }
        let process = try await ChildProcess.start(
            command[0],
            Array(command.dropFirst()),
            environment: ["PYTHONHOME": "/usr", "PATH": "/usr/bin:/bin"],
            log: directory.appending("log")
        )
        _ = try await process.waitUntilEnd()
        // A child of the program may still be sending requests.
        try await Deadline.wait(for: "the end of the trick: \(log)") { log.contains("done") ? true : nil }
        return server.vault.calls.dropFirst(before).compactMap {
            guard case .copy(_, let groups, _, _) = $0 else { return nil }
            return groups.map(\.name)
        }
    }

    private static let script = #"""
        import ctypes, os, socket, sys, threading
        mode, path, trusted = sys.argv[1:4]
        hello, first, second = [bytes.fromhex(text) for text in sys.argv[4:7]]
        if mode == "deleted":
            os.unlink(trusted)
        if mode == "replaced":
            with open("/usr/bin/true", "rb") as a, open(trusted + ".new", "wb") as b:
                b.write(a.read())
            os.chmod(trusted + ".new", 0o755)
            os.rename(trusted + ".new", trusted)
        client = socket.socket(socket.AF_UNIX)
        client.settimeout(60)
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
        def greet():
            greeting = frame()
            start = greeting.index(b"\x50") + 1
            ask(hello.replace(b"\xa5" * 16, greeting[start:start + 16]))
        def done():
            print("done", flush=True)
        def inChild(work):
            child = os.fork()
            if child == 0:
                work()
                os._exit(0)
            return child
        if mode in ("plain", "deleted", "replaced"):
            greet(); ask(first); ask(second); done()
        elif mode == "lends":
            greet(); ask(first)
            os.waitpid(inChild(lambda: ask(second)), 0)
            done()
        elif mode == "ends":
            greet(); ask(first)
            parent = os.getpid()
            def late():
                while os.getppid() == parent:
                    pass
                ask(second); done()
            inChild(late)
        elif mode == "execAtOnce":
            # The child asks once this process runs the trusted program.
            parent = os.getpid()
            def late():
                while os.readlink(f"/proc/{parent}/exe") != trusted:
                    pass
                greet(); ask(first); ask(second); done()
                os.kill(parent, 9)
            inChild(late)
            os.execv(trusted, [trusted, "-c", "import time; time.sleep(600)"])
        elif mode == "execLater":
            greet(); ask(first)
            os.set_inheritable(client.fileno(), True)
            code = ("import os, sys, socket\n"
                f"client = socket.socket(fileno={client.fileno()})\nclient.setblocking(True)\n"
                f"client.sendall(bytes.fromhex('{second.hex()}'))\n"
                "client.recv(1)\n"
                "print('done', flush=True)\n")
            os.execv(trusted, [trusted, "-c", code])
        elif mode == "threads":
            def work():
                # By now the first thread is gone: its program is not told there any more.
                while True:
                    try:
                        os.readlink(f"/proc/{os.getpid()}/exe")
                    except FileNotFoundError:
                        break
                ask(first); ask(second); done()
                os._exit(0)
            greet()
            threading.Thread(target=work).start()
            ctypes.CDLL(None).pthread_exit(None)
        """#
}
