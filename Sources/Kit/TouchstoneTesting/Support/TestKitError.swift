/// Why the test kit could not do what a test asked for.
public enum TestKitError: Error, Sendable, Equatable, CustomStringConvertible {
    /// A system call failed.
    case system(String, errno: Int32)
    /// A program is not installed.
    case missingProgram(String)
    /// An expected event did not happen in time.
    case timedOut(String)
    /// A program or a peer gave another result than the test needs.
    case unexpected(String)

    /// One sentence; for a missing program, what to do.
    public var description: String {
        switch self {
        case .system(let call, let errno): "\(call) failed with error number \(errno)"
        case .missingProgram(let program):
            Self.packages[program].map { "\(program) is missing: \($0)" } ?? program
        case .timedOut(let what): "waited too long for \(what)"
        case .unexpected(let what): what
        }
    }

    private static let packages = [
        "/usr/bin/dbus-daemon": "apt install dbus", "/usr/libexec/fprintd": "apt install fprintd",
        "/usr/bin/swtpm": "apt install swtpm", "/usr/bin/swtpm_setup": "apt install swtpm-tools",
    ]

    /// Runs `body` and converts its errors to errors of the kit.
    static func wrapping<R>(
        _ what: String,
        isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> R
    ) async throws(TestKitError) -> R {
        do {
            return try await body()
        } catch let error as TestKitError {
            throw error
        } catch {
            throw .unexpected("\(what): \(error)")
        }
    }
}
