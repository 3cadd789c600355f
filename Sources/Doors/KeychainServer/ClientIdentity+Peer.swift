package import Desk
import KeychainModel
import SystemFacts

extension ClientIdentity {
    /// Knows the `touchstone` that lies beside the program of this process.
    package init(manifest: AccessGroupManifest = AccessGroupManifest()) {
        self.init(
            ownProgram: ProgramPath.ofThisProcess().map { ProgramPath.directory(of: $0) + "/touchstone" },
            manifest: manifest
        )
    }

    /// Who is at the other end of a socket, by the name that `namer` gives to its program; nil asks nobody.
    func asker(of peer: PeerCredentials, in role: AskerRole, namedBy namer: (any ProgramNamer)?) -> Asker {
        let look = peer.process.flatMap { namer?.look(at: $0) } ?? .nothing
        return asker(
            uid: peer.uid,
            pid: peer.pid,
            processStart: look.processStart,
            program: look.program?.path,
            role: role,
            isStill: look.program?.isStill,
            isFoundAgain: look.program?.isFoundAgain
        )
    }
}
