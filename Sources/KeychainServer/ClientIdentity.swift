import Glibc
import KeychainModel

/// Gives a peer the access group whose items it sees.
///
/// The group is the path of the program: a hint, since programs of one user can imitate each other. What
/// really protects an item from them is its access control.
public struct ClientIdentity: Sendable {
    /// The group of the daemon's own `touchstone`, so that its items survive a move or an upgrade.
    public static let ownGroup = "touchstone"
    /// The group of a program whose path cannot be told.
    public static let unknownGroup = "unknown"

    private let ownProgram: String?

    /// Knows the `touchstone` that lies beside the program of this process.
    public init() {
        self.init(
            ownProgram: ProgramPath.ofProcess("self").map { ProgramPath.directory(of: $0) + "/touchstone" }
        )
    }

    /// Knows the `touchstone` with this path; nil for none.
    public init(ownProgram: String?) { self.ownProgram = ownProgram }

    /// The caller at the other end of `socket`.
    ///
    /// - Throws: ``ServerError`` when the kernel does not know the peer.
    func caller(on socket: CInt) throws(ServerError) -> Caller {
        let peer = try PeerCredentials(of: socket)
        return Caller(
            uid: peer.uid,
            pid: peer.pid,
            processStart: peer.processStart,
            program: peer.program,
            accessGroup: group(of: peer.program)
        )
    }

    private func group(of program: String?) -> AccessGroup {
        let name: String =
            switch program {
            case nil: Self.unknownGroup
            case ownProgram: Self.ownGroup
            case .some(let path): path
            }
        guard let group = AccessGroup(name) ?? AccessGroup(Self.unknownGroup) else {
            preconditionFailure("a constant name is a valid name")
        }
        return group
    }
}
