import CLinux

/// Reads environment variables, if they can be trusted.
enum ProcessEnvironment {
    /// The maximum length of a value, in bytes.
    static let longestValue = 4096

    /// A variable's value; nil if it is unset, empty, not UTF-8 or too long, and in programs that run with
    /// more privileges than their caller (secure_getenv(3)).
    static func variable(_ name: String) -> String? {
        guard let text = unsafe clinux_secure_getenv(name),
            let value = unsafe String(validatingCString: text),
            !value.isEmpty, value.utf8.count <= longestValue
        else { return nil }
        return value
    }
}
