import Foundation
import Glibc

/// The built programs: beside the running one, or in the directory that `TOUCHSTONE_BIN` names.
///
/// A test target gets them there by depending on the product `touchstoned-testing` beside `TouchstoneTesting`.
package enum Programs {
    /// The directory of `touchstone` and the daemons.
    package static let directory: String = {
        if let chosen = ProcessInfo.processInfo.environment["TOUCHSTONE_BIN"] { return chosen }
        return URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
            .path
    }()

    /// The daemon for tests, the product `touchstoned-testing`: its configuration may name test parts.
    package static let touchstoned = directory + "/touchstoned-testing"
    /// The daemon as installed, without test parts.
    package static let installedTouchstoned = directory + "/touchstoned"
    /// The program that draws boxes for a daemon that runs as another account.
    package static let agent = directory + "/touchstone-agent"
    /// The command line.
    package static let touchstone = directory + "/touchstone"

    /// - Throws: ``TestKitError`` that says what to do if the daemon for tests was not built.
    static func checkDaemon() throws {
        guard unsafe access(touchstoned, X_OK) != 0 else { return }
        throw TestKitError.missingProgram(
            """
            the keychain's daemon is not beside the tests (\(touchstoned)): add \
            .product(name: "touchstoned-testing", package: "touchstone") to the dependencies of your test target in \
            Package.swift, or set TOUCHSTONE_BIN to the directory of a built touchstoned-testing
            """
        )
    }
}
