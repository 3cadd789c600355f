import Foundation
import Glibc
package import LoopbackHTTP
import WebAuthnModel

/// The built server of `Server/`, with its own ports, its own store, and one account.
package final class SignInServer: Sendable {
    /// The account's password.
    package static let password = "correct horse battery staple 7"
    /// The account's name.
    package static let user = "anna"

    /// The URL that clients use.
    package let url: String
    /// The API.
    package let api: LoopbackHTTP
    /// The administration interface.
    package let administration: LoopbackHTTP
    /// The administrator's token.
    package let token: String

    private let directory: TemporaryDirectory
    private let process: ChildProcess
    private let ports: [HeldPort]

    /// The certificate of the server's attestation CA, PEM.
    package var authority: String {
        get throws {
            let text = try String(
                contentsOfFile: directory.appending("data/attestation-ca.pem"),
                encoding: .utf8
            )
            guard let end = text.range(of: "-----END CERTIFICATE-----") else {
                throw TestKitError.unexpected("no certificate of the attestation CA")
            }
            return String(text[..<end.upperBound]) + "\n"
        }
    }

    /// Starts a server and makes its account.
    ///
    /// - Parameters:
    ///   - program: `touchstone-server`.
    ///   - roots: PEM certificates of the authorities that certify chips; nil: chips are not certified.
    ///   - settings: further settings, by the names in its configuration file.
    /// - Returns: the server, ready.
    /// - Throws: ``TestKitError`` when it does not come up.
    package static func start(
        _ program: String,
        roots: [String]? = nil,
        settings: [String: String] = [:]
    ) async throws -> SignInServer {
        let directory = try TemporaryDirectory()
        let (port, adminPort) = (try HeldPort(), try HeldPort())
        var lines = [
            "listen": "127.0.0.1:\(port.number)", "admin-listen": "127.0.0.1:\(adminPort.number)",
            "public-url": "http://localhost:\(port.number)",
            "data-directory": try directory.makeDirectory("data"),
            "log-level": "error",
        ]
        if let roots {
            let folder = try directory.makeDirectory("roots")
            for (number, root) in roots.enumerated() {
                _ = try directory.write(root, to: "roots/\(number).pem")
            }
            lines["endorsement"] = "roots"
            lines["endorsement-roots"] = folder
        }
        lines.merge(settings) { $1 }
        let configuration = try directory.write(
            lines.sorted { $0.key < $1.key }.map { "\($0) = \($1)\n" }.joined(),
            to: "server.conf"
        )
        let log = directory.appending("server.log")
        let process = try await ChildProcess.start(
            program,
            ["--config", configuration],
            environment: ["HOME": directory.path, "PATH": "/usr/bin:/bin"],
            log: log
        )
        let offer = try await Deadline.wait(for: "touchstone-server") {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            guard process.isRunning else { throw TestKitError.unexpected("touchstone-server ended: \(text)") }
            return text.firstMatch(of: /ts_bt_[A-Za-z0-9_-]+(?=\s)/).map { String($0.output) }
        }
        let administration = LoopbackHTTP(port: adminPort.number)
        let token = try await Deadline.wait(for: "the first administrator") { () -> String? in
            guard
                let answer = try? administration.send(
                    "POST",
                    "/admin/v1/bootstrap",
                    headers: ["Content-Type": "application/json"],
                    body: (["token": .string(offer), "name": "test"] as JSONValue).json
                )
            else { return nil }
            let text = (try? JSONValue(parsing: answer.body))?.object?["token"]?.string
            guard let text else {
                throw TestKitError.unexpected("bootstrap: \(String(decoding: answer.body, as: UTF8.self))")
            }
            return text
        }
        let server = SignInServer(port, adminPort, token: token, directory, process)
        let account: JSONValue = ["username": .string(user), "password": .string(password)]
        let made = try administration.send(
            "POST",
            "/admin/v1/users",
            headers: ["Content-Type": "application/json", "Authorization": "Bearer \(token)"],
            body: account.json
        )
        guard made.status == 201 else {
            throw TestKitError.unexpected("users: \(String(decoding: made.body, as: UTF8.self))")
        }
        return server
    }

    private init(
        _ port: HeldPort,
        _ adminPort: HeldPort,
        token: String,
        _ directory: TemporaryDirectory,
        _ process: ChildProcess
    ) {
        url = "http://localhost:\(port.number)"
        api = LoopbackHTTP(port: port.number)
        administration = LoopbackHTTP(port: adminPort.number)
        ports = [port, adminPort]
        self.token = token
        self.directory = directory
        self.process = process
    }

    deinit { process.stop() }

    /// Removes all devices of the account, as an administrator does.
    ///
    /// - Returns: the number of removed devices.
    package func revokeDevices() throws -> Int {
        let user = try account()
        let list = try administer("GET", "/users/\(user)/credentials").object?["credentials"]?.array ?? []
        for credential in list {
            let id = credential.object?["id"]?.string ?? ""
            _ = try administer("DELETE", "/users/\(user)/credentials/\(id)")
        }
        return list.count
    }

    /// Suspends a credential of the account, or restores it, as an administrator does.
    ///
    /// - Parameters:
    ///   - isSuspended: whether to suspend it.
    ///   - credential: its id.
    /// - Throws: ``TestKitError`` if the server refuses it.
    package func setSuspended(_ isSuspended: Bool, _ credential: String) throws {
        let verb = isSuspended ? "suspend" : "restore"
        _ = try administer("POST", "/users/\(account())/credentials/\(credential)/\(verb)")
    }

    /// The account's id.
    private func account() throws -> String {
        let users = try administer("GET", "/users").object?["users"]?.array ?? []
        return users.first { $0.object?["username"]?.string == Self.user }?.object?["id"]?.string ?? ""
    }

    private func administer(_ method: String, _ path: String) throws -> JSONValue {
        let answer = try administration.send(
            method,
            "/admin/v1\(path)",
            headers: ["Authorization": "Bearer \(token)"]
        )
        guard (200..<300).contains(answer.status) else {
            throw TestKitError.unexpected("\(path): \(String(decoding: answer.body, as: UTF8.self))")
        }
        return answer.body.isEmpty ? .null : try JSONValue(parsing: answer.body)
    }
}

/// A port held by a bound socket that does not listen: the kernel assigns it to no other socket, and a server that sets
/// `SO_REUSEADDR` may listen on it (socket(7)).
private final class HeldPort: Sendable {
    let number: UInt16
    private let descriptor: CInt

    init() throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var isReused: CInt = 1
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let size = socklen_t(MemoryLayout<CInt>.size)
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &isReused, size) == 0
                    && bind(descriptor, address, length) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard status else {
            close(descriptor)
            throw TestKitError.unexpected("no free port")
        }
        self.descriptor = descriptor
        number = UInt16(bigEndian: address.sin_port)
    }

    deinit { close(descriptor) }
}
