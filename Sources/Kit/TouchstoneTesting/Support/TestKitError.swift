/// Why the test kit could not do what a test asked for.
public enum TestKitError: Error, Sendable, Equatable {
    /// A system call failed.
    case system(String, errno: Int32)
    /// A program is not installed.
    case missingProgram(String)
    /// Something that should have happened did not.
    case timedOut(String)
    /// A program or a peer answered with something else than the test needs.
    case unexpected(String)
}
