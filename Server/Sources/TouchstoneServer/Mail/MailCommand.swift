internal import Foundation

/// A program that gets a message on its standard input.
///
/// It is run without a shell and without arguments, in a process group of its own, with nothing of the server's environment and
/// none of its files; its output is discarded.
struct MailCommand: Sendable, Equatable {
    private let path: String

    /// The environment.
    private static let environment = ["PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"]

    /// - Throws: ``ConfigurationFault`` when the file cannot be run.
    init(path: String) throws(ConfigurationFault) {
        self.path = path
        var isDirectory: ObjCBool = false
        guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), !isDirectory.boolValue,
            access(path, X_OK) == 0
        else { throw ConfigurationFault(place: path, reason: "is no program that this user can run") }
    }

    /// Runs it once; it is killed with its process group if it takes longer.
    ///
    /// - Parameters:
    ///   - message: its input; a line end follows.
    ///   - timeout: how long it may take.
    /// - Returns: why the message was not delivered; nil: it exited with status 0.
    func run(_ message: [UInt8], timeout: Duration) async -> String? {
        let process: pid_t
        do throws(SpawnFailure) { process = try spawn(message) } catch { return error.text }
        let end = ContinuousClock.now + timeout
        var status: CInt = 0
        while true {
            let found = waitpid(process, &status, WNOHANG)
            if found == process { return Self.text(of: status) }
            if found < 0, errno != EINTR { return "waitpid: \(String(cString: strerror(errno)))" }
            let isCancelled = (try? await Task.sleep(for: .milliseconds(20))) == nil
            guard isCancelled || ContinuousClock.now >= end else { continue }
            kill(-process, SIGKILL)
            while waitpid(process, &status, 0) < 0, errno == EINTR {}
            return isCancelled ? "the server ends" : "it ran longer than \(timeout.components.seconds) s"
        }
    }

    /// What a status of waitpid(2) means; nil: the program exited with 0.
    private static func text(of status: CInt) -> String? {
        let signal = status & 0x7F
        guard signal == 0 else { return "signal \(signal)" }
        let code = status >> 8 & 0xFF
        return code == 0 ? nil : "exit status \(code)"
    }

    private struct SpawnFailure: Error {
        let text: String

        init(_ call: String, _ code: CInt) { text = "\(call): \(String(cString: strerror(code)))" }
    }

    private func spawn(_ message: [UInt8]) throws(SpawnFailure) -> pid_t {
        let input = try Self.pipe(with: message + [UInt8(ascii: "\n")])
        defer { close(input) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        // Those of libraries are closed by exec(2); this is for any that are not.
        for file in Self.openFiles() { posix_spawn_file_actions_addclose(&actions, file) }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes,
            Int16(POSIX_SPAWN_SETPGROUP) | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF)
        )
        var process: pid_t = 0
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(path), nil]
        var environment: [UnsafeMutablePointer<CChar>?] = Self.environment.map { strdup($0) } + [nil]
        defer { for text in arguments + environment { free(text) } }
        let code = posix_spawn(&process, path, &actions, &attributes, &arguments, &environment)
        guard code == 0 else { throw SpawnFailure("posix_spawn", code) }
        return process
    }

    /// The descriptors of the process beyond the standard ones.
    private static func openFiles() -> [CInt] {
        let names = try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
        return (names ?? []).compactMap { CInt($0) }.filter { $0 > STDERR_FILENO }
    }

    /// The reading end of a pipe with this content, whose writing end is closed: the server never waits for the program.
    private static func pipe(with content: [UInt8]) throws(SpawnFailure) -> CInt {
        var ends: [CInt] = [0, 0]
        guard Foundation.pipe(&ends) == 0 else { throw SpawnFailure("pipe", errno) }
        defer { close(ends[1]) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
        let count = content.withUnsafeBytes { write(ends[1], $0.baseAddress, $0.count) }
        guard count == content.count else {
            let code = count < 0 ? errno : ENOBUFS
            close(ends[0])
            throw SpawnFailure("write", code)
        }
        return ends[0]
    }
}
