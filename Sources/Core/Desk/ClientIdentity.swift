import Glibc
import KeychainModel

/// Gives a peer the access groups whose items it sees.
///
/// Its own is the path of the program: a hint, since programs of one user can imitate each other. What
/// really protects an item from them is its access control. Others come from a manifest alone. Programs that cannot
/// be told share one group.
public struct ClientIdentity: Sendable {
    /// The group of the daemon's own `touchstone`, so that its items survive a move or an upgrade.
    public static let ownGroup = "touchstone"
    /// The group of all programs whose path cannot be told.
    public static let unknownGroup = "unknown"

    private let ownProgram: String?
    private let manifest: AccessGroupManifest

    /// Knows the `touchstone` that lies beside the program of this process.
    public init(manifest: AccessGroupManifest = AccessGroupManifest()) {
        self.init(
            ownProgram: ProgramPath.ofThisProcess().map { ProgramPath.directory(of: $0) + "/touchstone" },
            manifest: manifest
        )
    }

    /// Knows the `touchstone` with this path; nil for none.
    public init(ownProgram: String?, manifest: AccessGroupManifest = AccessGroupManifest()) {
        self.ownProgram = ownProgram
        self.manifest = manifest
    }

    /// Who is at the other end of `socket`.
    ///
    /// - Throws: ``ServerError`` when the kernel does not know the peer.
    func peer(on socket: CInt) throws(ServerError) -> Peer {
        let peer = try PeerCredentials(of: socket)
        let path = peer.program?.path
        let caller = Caller(
            uid: peer.uid,
            pid: peer.pid,
            processStart: peer.processStart,
            program: path,
            accessGroup: group(of: path)
        )
        return Peer(
            caller,
            groups: groups(of: caller),
            program: peer.program,
            unknownGroup: group(of: nil)
        )
    }

    /// The groups that a caller may use.
    private func groups(of caller: Caller) -> EntitledGroups {
        // What a program stored before it was granted a group of its own stays within reach.
        let former = caller.program.flatMap { $0 == ownProgram ? nil : AccessGroup($0) }
        return EntitledGroups(
            own: caller.accessGroup,
            granted: manifest.groups(of: caller.program) + (former.map { [$0] } ?? [])
        )
    }

    private func group(of program: String?) -> AccessGroup {
        let name: String =
            switch program {
            case nil: Self.unknownGroup
            case ownProgram: Self.ownGroup
            case .some(let path): manifest.ownGroup(of: path)?.name ?? path
            }
        guard let group = AccessGroup(name) ?? AccessGroup(Self.unknownGroup) else {
            preconditionFailure("a constant name is a valid name")
        }
        return group
    }
}
