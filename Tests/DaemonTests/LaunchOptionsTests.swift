import KeychainModel
import Testing
import TouchstoneTesting

@testable import TouchstoneDaemon

@Suite("The daemon's command line")
struct LaunchOptionsTests {
    private static let alice = Owner(uid: 1000, name: "alice")

    private static func read(_ arguments: [String]) throws -> LaunchOptions {
        try LaunchOptions(arguments) { $0 == 1000 ? alice : nil }
    }

    @Test("the options select a daemon in the foreground or background, and its owner")
    func serve() throws {
        #expect(try Self.read([]) == .serve(isDetached: false, owner: nil))
        #expect(try Self.read(["--foreground"]) == .serve(isDetached: false, owner: nil))
        #expect(try Self.read(["--detach"]) == .serve(isDetached: true, owner: nil))
        #expect(try Self.read(["--check-configuration"]) == .checkConfiguration(owner: nil))
        let owned = LaunchOptions.serve(isDetached: false, owner: Self.alice)
        #expect(try Self.read(["--owner", "1000"]) == owned)
        #expect(try Self.read(["--foreground", "--owner", "1000"]) == owned)
        #expect(try Self.read(["--owner", "1000", "--foreground"]) == owned)
        #expect(
            try Self.read(["--owner", "1000", "--check-configuration"])
                == .checkConfiguration(owner: Self.alice)
        )
    }

    private static let refused: [([String], says: String)] = [
        (["--owner"], "--owner takes a user's number"),
        (["--owner", "alice"], "--owner takes a user's number, not alice"),
        (["--owner", ""], "--owner takes a user's number"),
        (["--owner", "-1"], "--owner takes a user's number"),
        (["--owner", "+1000"], "--owner takes a user's number"),
        (["--owner", "01000"], "--owner takes a user's number"),
        (["--owner", "1000 "], "--owner takes a user's number"),
        (["--owner", "0x3e8"], "--owner takes a user's number"),
        (["--owner", "4294967295"], "--owner takes a user's number"),
        (["--owner", "4294968296"], "--owner takes a user's number"),
        (["--owner", "--foreground"], "--owner takes a user's number"),
        (["--owner", "0"], "root has no keychain in system mode"),
        (["--owner", "1001"], "there is no user 1001"),
        (["--owner", "1000", "--owner", "1000"], "--owner is given twice"),
        (["--owner", "1000", "--detach"], "--detach and --owner cannot be combined"),
        (["--detach", "--owner", "1000"], "--detach and --owner cannot be combined"),
        (["--owner", "1000", "--foreground", "--check-configuration"], "the options cannot be combined"),
        (["--owner", "1000", "--help"], "the options cannot be combined"),
        (["--owner", "1000", "--version"], "the options cannot be combined"),
        (["--foreground", "--detach"], "the options cannot be combined"),
        (["--owner=1000"], "there is no option --owner=1000"),
        (["1000"], "there is no option 1000"),
    ]

    @Test("invalid owners and conflicting options are refused with a hint", arguments: refused)
    func refusals(arguments: [String], says: String) throws {
        let error = #expect(throws: StartError.self) { try Self.read(arguments) }
        #expect(error?.message.hasPrefix(says) == true)
        #expect(error?.hint.isEmpty == false)
    }

    @Test(
        "wrong usage exits with status 64, an error and a hint, before anything else",
        .enabled(if: Programs.isBuilt, "touchstoned is not built"),
        arguments: [
            ["--owner", "0"], ["--owner", "4294967294"], ["--owner", "root"], ["--owner", "1", "--detach"],
        ]
    )
    func status(arguments: [String]) async throws {
        for program in [Programs.touchstoned, Programs.installedTouchstoned] {
            let finished = try await Finished.running([program] + arguments)
            #expect(finished.status == 64)
            let lines = finished.output.split(separator: "\n")
            #expect(lines.count == 2)
            #expect(lines.first?.hasPrefix("error: ") == true)
            #expect(lines.last?.hasPrefix("hint: ") == true)
        }
    }

    @Test(
        "the help mentions system mode",
        .enabled(if: Programs.isBuilt, "touchstoned is not built")
    )
    func help() async throws {
        let finished = try await Finished.running([Programs.installedTouchstoned, "--help"])
        #expect(finished.status == 0)
        #expect(finished.output.contains("--owner UID            system mode"))
    }
}
