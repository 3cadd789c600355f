import Foundation
import KeychainClient
import KeychainModel
import TouchstoneTesting

/// `Examples/SignIn` in its own process, with a private keychain and a server behind a relay.
struct SignInApp {
    let relay: Relay
    let keychain: PrivateKeychain

    /// Starts the program, with its output redirected to the file.
    func start(
        _ password: String = SignInServer.password,
        more: [String: String] = [:]
    ) async throws -> (ChildProcess, log: String) {
        let log = keychain.home.appending("app.\(UUID().uuidString)")
        let text = try keychain.home.write(password + "\n", to: "input")
        let terminal = keychain.prompt().origin.terminal ?? ""
        // Prompts appear on the terminal of its descriptors.
        let process = try await ChildProcess.start(
            "/bin/sh",
            [
                "-c", "output=$1; shift; exec \"$@\" < '\(text)' > \"$output\" 2> '\(terminal)'",
                "sh", log,
                "\(Programs.directory)/SignIn", relay.url.absoluteString, SignInServer.user,
            ],
            environment: [
                "TOUCHSTONE_HOME": keychain.home.path, "TOUCHSTONE_DAEMON": Programs.touchstoned,
                "TERM": "xterm",
            ].merging(more) { $1 },
            log: keychain.home.appending("app.log")
        )
        return (process, log)
    }
}
