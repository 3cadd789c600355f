package import KeychainModel
import SystemFacts

extension ClientIdentity {
    /// Recognises the `touchstone` command installed with the program of this process, and, for a daemon of the same user, the door of
    /// the Secret Service beside it.
    ///
    /// The path is no more than a hint, as that of every program; a daemon of another account believes the group of the door alone.
    package init(manifest: AccessGroupManifest = AccessGroupManifest(), knowsDoorByPath: Bool = false) {
        self.init(
            ofDaemon: ProgramPath.ofThisProcess(),
            manifest: manifest,
            knowsDoorByPath: knowsDoorByPath
        )
    }

    /// Recognises the `touchstone` command installed with a daemon.
    ///
    /// For a daemon in `libexec/touchstone`, as all packages have it, that is the one in `bin`, otherwise the one
    /// beside the daemon. The one in `bin` was once identified by its path, and its items stay accessible.
    package init(
        ofDaemon daemon: String?,
        manifest: AccessGroupManifest = AccessGroupManifest(),
        knowsDoorByPath: Bool = false
    ) {
        let packaged = "/libexec/touchstone"
        let place = daemon.map(ProgramPath.directory)
        let isPackaged = place?.hasSuffix(packaged) == true
        let directory = place.map { isPackaged ? $0.dropLast(packaged.count) + "/bin" : $0 }
        self.init(
            ownProgram: directory.map { $0 + "/touchstone" },
            doorProgram: knowsDoorByPath ? place.map { $0 + "/touchstone-secrets" } : nil,
            ownHasFormerGroup: isPackaged,
            manifest: manifest
        )
    }

    /// A caller whose program was looked at; `door` is the one that it came by, nil for none.
    package func asker(
        uid: UInt32,
        pid: Int32,
        _ look: ProgramLook,
        in role: AskerRole,
        door: Caller.Door? = nil
    ) -> Asker {
        asker(
            uid: uid,
            pid: pid,
            processStart: look.processStart,
            program: look.program?.file.path,
            fault: look.fault,
            role: role,
            door: door,
            isStill: look.program?.isStill,
            startedBy: look.startedBy
        )
    }
}
