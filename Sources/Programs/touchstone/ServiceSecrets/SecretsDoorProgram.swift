import Glibc
import KeychainModel
import SystemFacts

/// The program that serves other programs' secrets on the session bus.
enum SecretsDoorProgram {
    private static let name = "touchstone-secrets"

    /// Its path: beside this program, or with the daemon of a package.
    static func path() throws(CommandError) -> String {
        let own = ProgramPath.ofThisProcess().map { ProgramPath.directory(of: $0) + "/" + name }
        let candidates =
            (own.map { [$0] } ?? []) + [
                "/usr/libexec/touchstone/" + name, "/usr/local/libexec/touchstone/" + name,
            ]
        guard let path = candidates.first(where: { unsafe access($0, X_OK) == 0 }) else {
            throw CommandError(
                "\(name) is not installed",
                hint: "install the package touchstone-secrets",
                exitCode: .notAvailable
            )
        }
        return path
    }

    /// The program that has the name on the session bus.
    enum Owner: Equatable {
        /// Ours.
        case touchstone(process: Int32)
        /// Another one, by the kernel's name for it.
        case other(String, process: Int32)
        /// None; a program that asks for the name starts one, if a service file names it.
        case nobody
        /// There is no session bus.
        case noBus
    }

    /// Asks the session bus.
    static func owner() throws(CommandError) -> Owner {
        let path = try path()
        // It fails without a bus.
        guard let output = try? ChildProgram.output(of: path, ["--owner"], upTo: 4096) else {
            return .noBus
        }
        let line = String(decoding: output, as: UTF8.self).prefix { $0 != "\n" }
        let words = line.split(separator: " ", maxSplits: 1).map(String.init)
        guard words.count == 2, let process = Int32(words[0]) else { return .nobody }
        // The kernel keeps 15 bytes of a program's name.
        return words[1] == name.prefix(15)
            ? .touchstone(process: process) : .other(words[1], process: process)
    }
}
