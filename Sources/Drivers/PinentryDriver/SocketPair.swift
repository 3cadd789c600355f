import Glibc
import KeychainModel

/// Two connected Unix sockets that no program inherits, closed when the pair is destroyed.
///
/// Used instead of two pipes: pipe2(2) cannot be called from Swift, and with pipe(2) a program started by another
/// thread could inherit the ends.
struct SocketPair: ~Copyable {
    /// The end for the pinentry program.
    let theirs: CInt
    private var ours: CInt

    /// Makes a pair.
    init() throws(PromptError) {
        var descriptors: [CInt] = [-1, -1]
        let type = CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &descriptors) == 0 else {
            throw PromptError(.prompterFailed, detail: "socketpair: \(SystemError.name(of: errno))")
        }
        ours = descriptors[0]
        theirs = descriptors[1]
    }

    /// Returns our end and closes the program's.
    consuming func takeOurs() -> CInt {
        let taken = ours
        ours = -1
        return taken
    }

    deinit {
        close(theirs)
        if ours >= 0 { close(ours) }
    }
}
