import Glibc
import KeychainModel
import SSHFormat
import TouchstoneTesting

/// The ssh-agent: a list of many keys, and a signature, beside OpenSSH's own agent with a key of the same kind.
enum SSHRows {
    private static let agent = "/usr/bin/ssh-agent"
    private static let keyCount = 100

    static func measure(_ programs: Programs, _ scale: Scale, into table: inout Table) async throws {
        let keychain = try BenchKeychain(programs)
        try await keychain.setUp()
        let count = programs.isSmoke ? 3 : keyCount
        for number in 0..<count {
            try CommandRun(
                path: programs.command,
                arguments: ["key", "create", "key \(number)", "--require", "none"],
                environment: keychain.environment,
                isQuiet: true
            ).run()
        }
        let ours = try AgentClient(path: keychain.layout.agentSocket)
        let key = try ours.firstKey()
        let list = try Stopwatch.median(of: scale.lookups) { _ in _ = try ours.ask([11]) }
        table.add(Row("ssh-agent: list of \(count) keys", ours: Figure(list), atMost: .milliseconds(5)))

        guard unsafe access(agent, X_OK) == 0 else {
            table.add(Row("ssh-agent: signature", notMeasured: "\(agent) is not installed"))
            return try await keychain.stop()
        }
        let (socket, file) = (keychain.appending("peer-agent"), keychain.appending("peer-key"))
        func run(_ program: String, _ arguments: [String]) throws {
            let environment = keychain.environment.merging(["SSH_AUTH_SOCK": socket]) { $1 }
            try CommandRun(path: program, arguments: arguments, environment: environment, isQuiet: true).run()
        }
        try run("/usr/bin/ssh-keygen", ["-q", "-t", "ecdsa", "-b", "256", "-N", "", "-f", file])
        let process = try await ChildProcess.start(
            agent,
            ["-D", "-a", socket],
            environment: keychain.environment,
            log: keychain.appending("peer.log")
        )
        defer { kill(process.processID, SIGTERM) }
        try await Deadline.wait(for: "OpenSSH's agent") { unsafe access(socket, F_OK) == 0 ? true : nil }
        try run("/usr/bin/ssh-add", ["-q", file])
        let peer = try AgentClient(path: socket)
        let peerKey = try peer.firstKey()
        let medians = try Stopwatch.medians(
            of: scale.lookups,
            inTurnsOf: 20,
            [
                { try ours.sign(by: key, number: $0) }, { try peer.sign(by: peerKey, number: $0) },
            ]
        )
        table.add(
            Row(
                "ssh-agent: signature, key in software",
                ours: Figure(medians[0]),
                "ssh-agent + 1 ms",
                Figure(medians[1] + 1_000_000),
                .atMost(1)
            )
        )
        try await keychain.stop()
    }
}

/// A client of an ssh-agent (RFC 9987).
private final class AgentClient {
    private let socket: CInt

    init(path: String) throws {
        socket = try UnixSocket.connect(to: path)
    }

    deinit { close(socket) }

    /// The body of the answer to a request.
    func ask(_ body: [UInt8]) throws -> [UInt8] {
        var writer = SSHWriter()
        writer.write(string: body)
        let frame = writer.bytes
        guard unsafe send(socket, frame, frame.count, CInt(MSG_NOSIGNAL)) == frame.count else {
            throw BenchError("the agent does not read")
        }
        let length = try receive(4).reduce(0) { $0 << 8 | Int($1) }
        return try receive(length)
    }

    /// The first key of the list.
    func firstKey() throws -> [UInt8] {
        var reader = SSHReader(try ask([11]))
        guard try reader.readByte() == 12, try reader.readUInt32() > 0 else { throw BenchError("no key") }
        return try reader.readString()
    }

    /// Has a message signed, another one each time.
    func sign(by key: [UInt8], number: Int) throws {
        var digest = [UInt8](repeating: 0, count: 64)
        unsafe withUnsafeBytes(of: UInt64(number)) { unsafe digest.replaceSubrange(0..<8, with: $0) }
        var writer = SSHWriter()
        writer.write(byte: 13)
        writer.write(string: key)
        writer.write(string: SSHMessageSignature.signedData(namespace: "bench", digest: digest))
        writer.write(uint32: 0)
        guard try ask(writer.bytes).first == 14 else { throw BenchError("the agent refuses") }
    }

    private func receive(_ count: Int) throws -> [UInt8] {
        var octets = [UInt8](repeating: 0, count: count)
        guard unsafe recv(socket, &octets, count, CInt(MSG_WAITALL)) == count else {
            throw BenchError("the agent has closed the connection")
        }
        return octets
    }
}
