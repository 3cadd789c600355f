import Foundation
import ScriptedDaemon
import TouchstoneTesting

/// A keychain, and a directory with links under the helpers' names.
struct CredentialPlace {
    let keychain: RealKeychain
    let bin: String

    init() async throws {
        keychain = try await RealKeychain.ready()
        bin = keychain.home.path + "/bin"
        try FileManager.default.createDirectory(atPath: bin, withIntermediateDirectories: true)
        for name in ["git-credential-touchstone", "docker-credential-touchstone"] {
            try FileManager.default.createSymbolicLink(
                atPath: "\(bin)/\(name)",
                withDestinationPath: Programs.touchstone
            )
        }
    }

    func run(
        _ program: String,
        _ arguments: [String],
        _ input: some Sequence<UInt8>,
        _ more: [String: String] = [:]
    ) async throws -> CommandResult {
        var run = CommandRun(home: keychain.home)
        run.program = program.contains("/") ? program : "\(bin)/\(program)"
        run.arguments = arguments
        run.input = .octets(Array(input))
        run.terminal = try PseudoTerminal()
        run.environment = [
            "TOUCHSTONE_DAEMON": Programs.touchstoned, "PATH": "\(bin):/usr/bin:/bin",
            "HOME": keychain.home.path,
            "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_NOSYSTEM": "1",
        ].merging(more) { $1 }
        return try await run.run()
    }

    func git(_ operation: String, _ input: String) async throws -> CommandResult {
        try await run(
            "/usr/bin/git",
            ["-c", "credential.helper=touchstone", "credential", operation],
            input.utf8
        )
    }

    func helper(_ operation: String, _ input: String, _ more: [String: String] = [:]) async throws
        -> CommandResult
    {
        try await run("git-credential-touchstone", [operation], input.utf8, more)
    }

    func docker(_ operation: String, _ input: String = "", _ more: [String: String] = [:]) async throws
        -> CommandResult
    {
        try await run("docker-credential-touchstone", [operation], input.utf8, more)
    }
}
