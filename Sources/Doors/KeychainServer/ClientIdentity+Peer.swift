package import Desk
import KeychainModel
import SystemFacts

extension ClientIdentity {
    /// Knows the `touchstone` that was installed with the program of this process.
    package init(manifest: AccessGroupManifest = AccessGroupManifest()) {
        self.init(ofDaemon: ProgramPath.ofThisProcess(), manifest: manifest)
    }

    /// Knows the `touchstone` that was installed with a daemon: the one in `bin` for a daemon in `libexec/touchstone`, as all
    /// packages have it, or the one beside it.
    ///
    /// The one in `bin` was known by its path once, and its items stay within reach.
    package init(ofDaemon daemon: String?, manifest: AccessGroupManifest = AccessGroupManifest()) {
        let packaged = "/libexec/touchstone"
        let place = daemon.map(ProgramPath.directory)
        let isPackaged = place?.hasSuffix(packaged) == true
        let directory = place.map { isPackaged ? $0.dropLast(packaged.count) + "/bin" : $0 }
        self.init(
            ownProgram: directory.map { $0 + "/touchstone" },
            ownHasFormerGroup: isPackaged,
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
            fault: look.fault,
            role: role,
            isStill: look.program?.isStill
        )
    }
}
