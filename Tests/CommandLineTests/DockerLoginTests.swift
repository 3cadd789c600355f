import Foundation
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// docker's own client, with `touchstone` as its credential helper, against a registry that requires a
/// password.
///
/// The client needs no docker daemon: it logs in by itself if none answers.
@Suite(
    "docker login and logout",
    .enabled(
        if: RealKeychain.isPossible && Registry.isPossible,
        "docker's client is not there"
    )
)
struct DockerLoginTests {
    /// A keychain with a docker configuration beside it.
    private struct Person {
        let keychain: RealKeychain
        let registry: Registry

        init() async throws {
            keychain = try await RealKeychain.ready()
            registry = try await Registry()
            let home = keychain.home.path
            for directory in ["bin", ".docker"] {
                try FileManager.default.createDirectory(
                    atPath: "\(home)/\(directory)",
                    withIntermediateDirectories: true
                )
            }
            try FileManager.default.createSymbolicLink(
                atPath: "\(home)/bin/docker-credential-touchstone",
                withDestinationPath: Programs.touchstone
            )
            try "{\"credsStore\": \"touchstone\"}".write(
                toFile: home + "/.docker/config.json",
                atomically: true,
                encoding: .utf8
            )
        }

        func docker(_ arguments: String..., input: String = "") async throws -> CommandResult {
            let home = keychain.home.path
            var run = CommandRun(home: keychain.home)
            run.program = Registry.client
            run.arguments = arguments
            run.input = .octets(Array(input.utf8))
            run.environment = [
                "TOUCHSTONE_DAEMON": Programs.touchstoned, "PATH": "\(home)/bin:/usr/bin:/bin", "HOME": home,
                "DOCKER_HOST": "unix://\(home)/no-daemon",
            ]
            return try await run.run()
        }
    }

    @Test("a login is stored in the keychain, used by the next login, and removed by the logout")
    func login() async throws {
        let person = try await Person()
        let address = person.registry.address
        let first = try await person.docker(
            "login",
            "--username",
            Registry.user,
            "--password-stdin",
            address,
            input: Registry.password
        )
        #expect(first.status == 0 && first.text.contains("Login Succeeded"), "\(first)")
        #expect(try await person.keychain.run("list").text.hasPrefix("docker:\(address)\tnone\t"))
        let configuration = try String(
            contentsOfFile: person.keychain.home.path + "/.docker/config.json",
            encoding: .utf8
        )
        let login = Data("\(Registry.user):\(Registry.password)".utf8).base64EncodedString()
        #expect(!configuration.contains(login))

        // Some versions leave the rest to the daemon.
        let existing = "Authenticating with existing credentials..."
        #expect(try await person.docker("login", address).text.contains(existing))

        let logout = try await person.docker("logout", address)
        #expect(logout.status == 0 && !logout.errors.contains("WARNING"), "\(logout)")
        #expect(try await !person.keychain.run("list").text.contains("docker:"))
        let later = try await person.docker("login", address)
        #expect(later.status != 0 && !later.text.contains(existing), "\(later)")
    }

    @Test("a password that the registry rejects is not stored")
    func refused() async throws {
        let person = try await Person()
        let result = try await person.docker(
            "login",
            "--username",
            Registry.user,
            "--password-stdin",
            person.registry.address,
            input: "wrong"
        )
        #expect(result.status != 0)
        #expect(try await !person.keychain.run("list").text.contains("docker:"))
        #expect(!person.registry.requests().contains("right"))
    }
}

/// A registry on the loopback interface that implements only the login, with basic authentication.
private struct Registry: Sendable {
    static let user = "alice"
    static let password = "p=1 \"ü:x"
    /// docker's client; in Debian's package `docker.io`, together with a daemon that is not needed.
    static let client = ProcessInfo.processInfo.environment["TOUCHSTONE_DOCKER"] ?? "/usr/bin/docker"

    static let isPossible = [client, BasicAuthServer.python].allSatisfy(Programs.isBuilt)

    /// `127.0.0.1:PORT`; docker uses no TLS there.
    let address: String
    private let server: BasicAuthServer

    init() async throws {
        let answer = """
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            """
        server = try await BasicAuthServer(
            in: try TemporaryHome(),
            user: Self.user,
            password: Self.password,
            serve: answer
        )
        address = server.address
    }

    /// The credentials of each request so far: `none`, `wrong` or `right`.
    func requests() -> [String] { server.requests() }
}
