import BrokerProtocol
import CLinux
import Foundation
import Glibc
import KeychainModel
import TouchstoneTesting

/// The broker on a private socket, started like by a service manager; killed at the end.
final class RunningBroker {
    static let program = Programs.directory + "/touchstone-broker"
    static let python = "/usr/bin/python3"
    static var isPossible: Bool {
        access(program, X_OK) == 0 && access(python, X_OK) == 0 && (geteuid() != 0 || canPtrace)
    }
    /// Root's broker keeps CAP_SYS_PTRACE (19), so root must have it.
    private static let canPtrace =
        (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8))?.split(separator: "\n")
        .first { $0.hasPrefix("CapEff:") }
        .flatMap { UInt64($0.dropFirst(7).drop(while: \.isWhitespace), radix: 16) }
        .map { $0 >> 19 & 1 == 1 } ?? false

    let directory: TemporaryDirectory
    let process: ChildProcess
    var path: String { directory.appending("socket") }

    /// Starts the broker for an account; the mount namespace of `machine`, by default the test, counts as the machine's.
    ///
    /// `descriptors` is how many it may have.
    init(
        account: String? = nil,
        templates: String = "/nonexistent",
        machine: Int32 = getpid(),
        descriptors: Int = 1024
    ) async throws {
        directory = try TemporaryDirectory()
        let account = account ?? Owner.ofThisProcess().name ?? ""
        let script = """
            import os, resource, socket, sys
            s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            s.bind(sys.argv[1])
            s.listen(64)
            os.dup2(s.fileno(), 3)
            os.set_inheritable(3, True)
            os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
            most = int(sys.argv[2])
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
            os.execv(sys.argv[3], sys.argv[3:])
            """
        process = try await ChildProcess.start(
            Self.python,
            [
                "-c", script, directory.appending("socket"), "\(descriptors)", Self.program,
                "--account", account,
                "--template-directory", templates, "--machine", "\(machine)", "--all-users",
            ],
            environment: ["PATH": "/usr/bin:/bin"],
            log: directory.appending("log")
        )
        try await Deadline.wait(for: "the broker") {
            guard process.isRunning else { throw TestKitError.unexpected("the broker ended") }
            return (try? BrokerPeer(path)) != nil ? true : nil
        }
    }

    deinit { process.stop() }
}

/// A connection to the broker.
final class BrokerPeer {
    let socket: CInt

    init(_ path: String) throws {
        socket = try UnixSocket.connect(to: path, .packets)
    }

    deinit { close(socket) }

    /// Sends bytes; false if the broker has closed the connection.
    @discardableResult
    func send(_ octets: [UInt8], handle: CInt = -1) -> Bool {
        clinux_send_packet(socket, octets, octets.count, handle) == octets.count
    }

    /// The next packet; nil if the connection was closed.
    func receive() async throws -> BrokerReply? {
        var octets = [UInt8](repeating: 0, count: BrokerRequest.longest)
        var handle: CInt = -1
        let count = try await Deadline.wait(for: "a packet") { () -> Int? in
            let count = clinux_receive_packet(socket, &octets, octets.count, &handle)
            return count < 0 && errno == EAGAIN ? nil : count
        }
        return count > 0 ? BrokerReply(packet: Array(octets[..<count])) : nil
    }

    func ask(_ request: BrokerRequest, handle: CInt = -1) async throws -> BrokerReply? {
        send(request.packet, handle: handle)
        return try await receive()
    }
}
