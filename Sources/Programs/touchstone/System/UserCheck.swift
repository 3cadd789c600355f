import ArgumentParser
import CLinux
import Glibc
import KeychainClient
import KeychainModel
import SystemMigration

/// `touchstone system check`: unlocks the keychain if it is locked, and checks everything in it.
///
/// `enable` and `disable` run it as the user, in a process without root's privileges.
struct SystemCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Unlock the keychain where it is locked, and check all of it.",
        shouldDisplay: false
    )

    @Option(help: ArgumentHelp("The keychain's user, as root.", valueName: "name"))
    var user: String?

    @Option(
        help: ArgumentHelp(
            "A variable that says where the user's own daemon has it.",
            valueName: "NAME=VALUE"
        )
    )
    var place: String?

    func run() throws {
        if let user { return try Self.become(user, place) }
        let keychain = RemoteKeychain.shared
        // The moved keychain is set up; one that is not set up is another, in the wrong place.
        guard try keychain.status().keybag != .notSetUp else {
            throw CommandError(
                "there is no keychain where the daemon looks for it",
                hint: "touchstone system status shows where it is",
                exitCode: .notFound
            )
        }
        if try keychain.status().keybag != .unlocked { try UnlockCommand.parse([]).run() }
        let progress = Progress("Checking")
        defer { progress.clear() }
        let report = try keychain.check(progress: progress.show)
        guard report.faults.isEmpty, report.damaged == 0, report.isSetAuthentic else {
            throw CommandError(
                "the keychain that was moved is damaged",
                hint: "touchstone repair shows what is wrong, by name",
                exitCode: .damaged
            )
        }
    }

    /// Drops root's privileges and executes this program again as the user.
    ///
    /// It then has the privileges, groups and environment of any other program of the user.
    private static func become(_ name: String, _ place: String?) throws {
        let database = UserDatabase()
        guard let user = database.user(name), user.uid != 0 else { throw ExitCode.validationFailure }
        let account = Account(user, in: database)
        guard unsafe setgroups(account.groups.count, account.groups) == 0, setgid(account.gid) == 0,
            setuid(account.uid) == 0, ProcessUser.uid == account.uid
        else { throw CommandError("cannot switch to the user: \(SystemError.name(of: errno))") }
        guard let program = unsafe realpath("/proc/self/exe", nil) else { throw ExitCode.failed }
        defer { unsafe free(program) }
        var variables = [
            "HOME=\(user.home)", "USER=\(user.name)", "LOGNAME=\(user.name)", "PATH=/usr/bin:/bin",
        ]
        for kept in ["TERM", "LANG", "LC_ALL", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"] {
            if let value = Environment.value(kept) { variables.append("\(kept)=\(value)") }
        }
        if let place, place.hasPrefix("XDG_DATA_HOME=/") { variables.append(place) }
        if let runtime = UserRuntimeDirectory.find(user: user.uid) {
            variables.append("XDG_RUNTIME_DIR=\(runtime)")
        }
        let arguments = ["touchstone", "system", "check"]
        var argv: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = unsafe variables.map { unsafe strdup($0) } + [nil]
        unsafe execve(program, &argv, &envp)
        throw CommandError("\(unsafe String(cString: program)): \(SystemError.name(of: errno))")
    }
}

extension MovedUser {
    /// Asks the user to unlock the keychain in its new place, and checks everything in it.
    ///
    /// - Throws: ``CommandError`` if that failed; the old keychain is then kept.
    func check(again command: String) throws(CommandError) {
        guard let program = unsafe realpath("/proc/self/exe", nil) else {
            throw CommandError("/proc is not there")
        }
        defer { unsafe free(program) }
        let path = unsafe String(cString: program)
        let arguments =
            ["touchstone", "system", "check", "--user", user.name]
            + (dataVariable.map { ["--place", $0] } ?? [])
        let status: CInt
        if MaskedRun.hasTerminal, !isUsersOwn(STDIN_FILENO) {
            // sudo(8) runs a command on a new terminal owned by root, and the agent does not prompt on another user's terminal.
            let nothing = try ReleasedSecrets([]) { _ in "" }
            let image = try ProcessImage(try Executable(path), arguments: arguments)
            status = try MaskedRun(image, masking: nothing, terminalOf: user.uid).wait()
        } else {
            status = try ChildProgram(path, arguments).wait()
        }
        guard status == 0 else {
            throw CommandError(
                "the keychain was moved but not checked; the old one is kept",
                hint: "as \(user.name): touchstone unlock; then: sudo touchstone system \(command)",
                exitCode: ExitCode(status)
            )
        }
    }

    private func isUsersOwn(_ terminal: CInt) -> Bool {
        var status = stat()
        return unsafe fstat(terminal, &status) == 0 && status.st_uid == user.uid
    }
}
