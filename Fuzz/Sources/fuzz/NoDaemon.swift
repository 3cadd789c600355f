import Foundation
import KeychainClient
import KeychainModel
import Security

/// Apple's functions without a daemon: every call fails with `errSecNotAvailable`.
enum NoDaemon {
    private static let keychain: RemoteKeychain = {
        let home = FileManager.default.temporaryDirectory.appending(path: "no-home").path
        guard let layout = Layout(variable: { $0 == "TOUCHSTONE_HOME" ? home : nil }) else {
            fatalError("no layout for \(home)")
        }
        return RemoteKeychain(layout: layout, daemon: .none)
    }()

    /// Runs `body` without a daemon.
    static func run(_ body: () -> Void) {
        KeychainConnection.$current.withValue(keychain) {
            KeychainConnection.$promptOrigin.withValue(PromptOrigin(terminal: nil), operation: body)
        }
    }
}
