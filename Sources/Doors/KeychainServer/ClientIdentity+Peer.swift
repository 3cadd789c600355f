package import Desk

extension ClientIdentity {
    /// Knows the `touchstone` that lies beside the program of this process.
    package init(manifest: AccessGroupManifest = AccessGroupManifest()) {
        self.init(
            ownProgram: ProgramPath.ofThisProcess().map { ProgramPath.directory(of: $0) + "/touchstone" },
            manifest: manifest
        )
    }

    /// Who is at the other end of `socket`.
    ///
    /// - Throws: ``ServerError`` when the kernel does not know the peer.
    func asker(on socket: CInt) throws(ServerError) -> Asker {
        let peer = try PeerCredentials(of: socket)
        var isStill: (@Sendable () -> Bool)?
        if let program = peer.program {
            isStill = { program.process.programFile == program.file }
        }
        return asker(
            uid: peer.uid,
            pid: peer.pid,
            processStart: peer.processStart,
            program: peer.program?.path,
            isStill: isStill
        )
    }
}
