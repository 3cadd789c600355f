import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// OpenSSH's server on the loopback interface, for the user who runs the tests.
final class SSHServer: Sendable {
    static let isPossible = ["/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen"].allSatisfy(
        Programs.isBuilt
    )

    let port: UInt16
    /// Its host key, as in a `.pub` file.
    let hostKey: String
    private let home: TemporaryHome
    /// Killed with this value.
    private let process: StartedCommand

    /// Starts a server to which this public key may log in.
    init(authorized line: String) async throws {
        home = try TemporaryHome()
        let path = home.path
        // sshd, as root, gives up its rights in this directory.
        if geteuid() == 0 { mkdir("/run/sshd", 0o755) }
        try await Self.keygen(["-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path + "/host"], home)
        hostKey = try String(contentsOfFile: path + "/host.pub", encoding: .utf8).trimmingCharacters(
            in: .whitespacesAndNewlines
        )
        try await Self.keygen(["-q", "-t", "ed25519", "-N", "", "-C", "ca", "-f", path + "/authority"], home)
        port = try Self.freePort()
        let settings = """
            Port \(port)
            ListenAddress 127.0.0.1
            HostKey \(path)/host
            AuthorizedKeysFile \(path)/authorized
            TrustedUserCAKeys \(path)/authority.pub
            PidFile none
            UsePAM no
            StrictModes no
            PasswordAuthentication no
            KbdInteractiveAuthentication no
            PermitRootLogin prohibit-password
            AllowAgentForwarding yes

            """
        try settings.write(toFile: path + "/settings", atomically: true, encoding: .utf8)
        var server = CommandRun("-D", "-e", "-f", path + "/settings", home: home)
        server.program = "/usr/sbin/sshd"
        process = try server.start()
        try authorize(line)
        try await Deadline.wait(for: "sshd") { [port] in Self.connects(to: port) ? true : nil }
    }

    /// Lets this public key log in, and no other.
    func authorize(_ line: String) throws {
        try (line + "\n").write(toFile: home.path + "/authorized", atomically: true, encoding: .utf8)
    }

    /// Has the server's authority sign a public key in a file, and returns the path of the certificate.
    func certify(_ path: String) async throws -> String {
        try #require(path.hasSuffix(".pub"))
        try await Self.keygen(
            ["-q", "-s", home.path + "/authority", "-I", "test", "-n", Self.user, "-V", "+1h", path],
            home
        )
        return path.dropLast(4) + "-cert.pub"
    }

    /// The name of the user at the server.
    static var user: String { NSUserName() }

    /// The host's name in known_hosts.
    var name: String { "[127.0.0.1]:\(port)" }

    /// The line of known_hosts.
    var knownHost: String { "\(name) \(hostKey)" }

    private static func keygen(_ arguments: [String], _ home: TemporaryHome) async throws {
        var run = CommandRun(arguments: arguments, home: home)
        run.program = "/usr/bin/ssh-keygen"
        let result = try await run.run()
        guard result.status == 0 else { throw TestKitError.unexpected(result.errors) }
    }

    private static func address(_ port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
        return address
    }

    private static func withSocket<R>(_ body: (CInt) throws -> R) rethrows -> R {
        let descriptor = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        return try body(descriptor)
    }

    private static func freePort() throws -> UInt16 {
        try withSocket { descriptor in
            var place = address(0)
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let result = withUnsafeMutablePointer(to: &place) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length) == 0 ? getsockname(descriptor, $0, &length) : -1
                }
            }
            guard result == 0 else { throw POSIXError(.EADDRINUSE) }
            return UInt16(bigEndian: place.sin_port)
        }
    }

    private static func connects(to port: UInt16) -> Bool {
        withSocket { descriptor in
            var place = address(port)
            return withUnsafePointer(to: &place) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
                }
            }
        }
    }
}
