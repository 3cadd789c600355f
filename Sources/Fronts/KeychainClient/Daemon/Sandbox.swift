import CLinux
import Glibc
import KeychainModel

/// The sandbox that this process runs in, by its name: why the daemon may be out of reach.
///
/// It only words an error. Nothing here is a proof: a sandbox could hide its marks.
enum Sandbox {
    /// Names the sandbox in an error of a daemon that cannot be reached; leaves any other error as it is.
    ///
    /// - Parameters:
    ///   - error: The error of a connection that could not be made.
    ///   - root: The directory that the marks are looked up in.
    /// - Returns: The error with the cause `sandboxed`, or the same error.
    static func naming(_ error: KeychainError, root: String = "") -> KeychainError {
        guard let cause = error.cause, isAbsence(cause), let sandbox = name(root, isRefused(cause)) else {
            return error
        }
        return .notAvailable(.sandboxed, detail: "\(sandbox); \(cause.domain): \(cause.code)")
    }

    /// Flatpak's and snap's sandboxes have files of their own; AppArmor's confines by paths, so only what it refused counts.
    private static func name(_ root: String, _ isRefused: Bool) -> String? {
        if let information = try? SmallFile.bytes(root + "/.flatpak-info", atMost: 65_536) {
            return "Flatpak" + (application(in: information).map { " \($0)" } ?? "")
        }
        guard let label = label(root) else { return nil }
        if label.hasPrefix("snap.") { return "snap \(label.dropFirst(5))" }
        return isRefused ? "AppArmor profile \(label)" : nil
    }

    /// The line `name` of the group `Application` (flatpak-metadata(5)).
    private static func application(in information: [UInt8]) -> String? {
        let lines = String(decoding: information, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard let group = lines.firstIndex(of: "[Application]") else { return nil }
        let name = lines[(group + 1)...].prefix { !$0.hasPrefix("[") }.first { $0.hasPrefix("name=") }
        return name.map { printable($0.dropFirst("name=".count)) }
    }

    /// The profile in AppArmor's file of this process, `PROFILE (MODE)`; nil for none, and for one that only complains.
    private static func label(_ root: String) -> String? {
        for file in ["/proc/self/attr/apparmor/current", "/proc/self/attr/current"] {
            guard let octets = try? SmallFile.bytes(root + file, atMost: 4096) else { continue }
            let line = String(decoding: octets, as: UTF8.self).prefix { !$0.isNewline }
            let mode = " (enforce)"
            return line.hasSuffix(mode) ? printable(line.dropLast(mode.count)) : nil
        }
        return nil
    }

    private static func printable(_ text: Substring) -> String {
        String(text.prefix(128).filter { $0.isASCII && ($0.isLetter || $0.isNumber || "._-+/".contains($0)) })
    }

    /// Whether the daemon was not found, or may not be talked to.
    private static func isAbsence(_ cause: DriverCause) -> Bool {
        switch cause.known {
        case .daemonMissing, .daemonNotRunning, .daemonNotStarted, .daemonDoesNotListen, .systemSocketMissing,
            .systemDirectory, .socketFailed, .connectFailed, .socketPlace, .runtimeDirectory, .noHome:
            true
        // The daemon's program could be started, and ended with an error: it may do less than the sandbox's outside.
        default: cause.domain == "touchstoned"
        }
    }

    private static func isRefused(_ cause: DriverCause) -> Bool {
        let detail = cause.detail ?? ""
        return ["EACCES", "EPERM"].contains { detail.contains($0) || cause.code.contains($0) }
    }
}
