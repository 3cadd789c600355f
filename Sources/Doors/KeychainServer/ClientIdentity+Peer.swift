package import Desk
import KeychainModel
import SystemFacts

extension ClientIdentity {
    /// Recognises the `touchstone` command installed with the program of this process.
    package init(manifest: AccessGroupManifest = AccessGroupManifest()) {
        self.init(ofDaemon: ProgramPath.ofThisProcess(), manifest: manifest)
    }

    /// Recognises the `touchstone` command installed with a daemon.
    ///
    /// For a daemon in `libexec/touchstone`, as all packages have it, that is the one in `bin`, otherwise the one
    /// beside the daemon. The one in `bin` was once identified by its path, and its items stay accessible.
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

    /// The caller at the other end of a socket, with its program named by `namer`; nil names no program.
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
