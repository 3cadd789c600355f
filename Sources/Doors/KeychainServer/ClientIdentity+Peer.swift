package import Desk
import KeychainModel
import SystemFacts

extension ClientIdentity {
    /// Knows the `touchstone` that was installed with the program of this process.
    package init(manifest: AccessGroupManifest = AccessGroupManifest()) {
        self.init(ownProgram: ProgramPath.ofThisProcess().map(Self.command), manifest: manifest)
    }

    /// The command that belongs to a daemon: the one in `bin` for a daemon in `libexec/touchstone`, as all packages have it, or
    /// the one beside it.
    package static func command(ofDaemon daemon: String) -> String {
        let place = ProgramPath.directory(of: daemon)
        let packaged = "/libexec/touchstone"
        return (place.hasSuffix(packaged) ? place.dropLast(packaged.count) + "/bin" : place) + "/touchstone"
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
            isStill: look.program?.isStill
        )
    }
}
