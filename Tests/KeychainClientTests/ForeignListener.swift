import CLinux
import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon

/// Another user's process that listens on our socket; the kernel records who called listen(2).
struct ForeignListener {
    private static let setpriv = "/usr/bin/setpriv"
    private static let perl = "/usr/bin/perl"

    static var isPossible: Bool { access(setpriv, X_OK) == 0 && access(perl, X_OK) == 0 }

    private let processID: pid_t

    /// Waits until the other user's process listens.
    init(_ home: TemporaryHome, uid: UInt32) throws {
        let socket = try ScriptedDaemon.bind(home.layout.socket)
        defer { close(socket) }
        var pipe: [CInt] = [0, 0]
        guard unsafe Glibc.pipe(&pipe) == 0 else { throw POSIXError(.EMFILE) }
        defer { close(pipe[0]) }
        let program = "listen(STDIN, 5) or exit 1; syswrite(STDOUT, 'x'); accept(my $c, STDIN); sleep"
        let arguments = [Self.setpriv, "--reuid=\(uid)", "--clear-groups", Self.perl, "-e", program]
        var argv: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) } + [nil]
        var envp: [UnsafeMutablePointer<CChar>?] = unsafe [nil]
        processID = unsafe clinux_spawn(Self.setpriv, &argv, &envp, socket, pipe[1], -1)
        unsafe argv.forEach { unsafe free($0) }
        close(pipe[1])
        var octet: UInt8 = 0
        guard processID > 0, unsafe read(pipe[0], &octet, 1) == 1 else { throw POSIXError(.ECHILD) }
    }

    func stop() {
        kill(processID, SIGKILL)
        while waitpid(processID, nil, 0) < 0, errno == EINTR {}
    }
}
