import Foundation
import KeychainClient
import Testing
import TouchstoneTesting

/// The directory of the built programs.
private let programs = ProcessInfo.processInfo.environment["TOUCHSTONE_NEIGHBOURS"]

/// The programs in the package Examples/Neighbours, which `Scripts/test-neighbours` builds.
@Suite(
    "A server beside other packages",
    .enabled(if: programs != nil, "Scripts/test-neighbours builds it and runs this"),
    .timeLimit(.minutes(20))
)
struct NeighboursTests {
    private static func run(_ name: String, _ arguments: String..., in keychain: PrivateKeychain)
        async throws
        -> (status: Int32, output: String)
    {
        let log = keychain.home.appending("\(name).\(UUID().uuidString)")
        let process = try await ChildProcess.start(
            try #require(programs) + "/" + name,
            arguments,
            environment: ["TOUCHSTONE_HOME": keychain.home.path],
            log: log
        )
        let status = try await process.waitUntilEnd()
        return (status >> 8, try String(contentsOfFile: log, encoding: .utf8))
    }

    @Test("the server stores its TLS key's passphrase in the keychain, and uses it at its next start")
    func server() async throws {
        let keychain = try await PrivateKeychain.ready()
        let directory = keychain.home.appending("tls")
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let file = URL(fileURLWithPath: directory + "/server.p12")
        let answer = "https://localhost answered: hello\n"
        #expect(try await Self.run("Neighbours", directory, in: keychain) == (0, answer))
        let made = try Data(contentsOf: file)
        #expect(try await Self.run("Neighbours", directory, in: keychain) == (0, answer))
        #expect(try Data(contentsOf: file) == made, "the same key")

        // The file is useless without this keychain.
        let other = try await PrivateKeychain.ready()
        let foreign = try await Self.run("Neighbours", directory, in: other)
        #expect(foreign.status == 1 && foreign.output.contains("no server: "), "\(foreign)")

        // Only after the session's first unlock.
        try keychain.client.lock()
        #expect(try await Self.run("Neighbours", directory, in: keychain) == (0, answer))
        keychain.stop(with: SIGTERM)
        try await keychain.start()
        let locked = try await Self.run("Neighbours", directory, in: keychain)
        #expect(locked.status == 1 && locked.output.contains("no server: "), "\(locked)")
        try keychain.unlock()
        #expect(try await Self.run("Neighbours", directory, in: keychain) == (0, answer))
        #expect(try Data(contentsOf: file) == made)
    }

    @Test(
        "a second program with the keychain library has a passphrase of its own"
    )
    func keeper() async throws {
        let keychain = try await PrivateKeychain.ready()
        #expect(try await Self.run("Keeper", in: keychain) == (0, "made\n"))
        #expect(try await Self.run("Keeper", in: keychain) == (0, "found\n"))
        keychain.stop(with: SIGTERM)
        try await keychain.start()
        #expect(try await Self.run("Keeper", in: keychain) == (1, "locked\n"))
    }
}
