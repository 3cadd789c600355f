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
    /// - Parameters:
    ///   - socket: connected.
    ///   - agentGroup: the group by which agents are known; nil where there are none.
    /// - Returns: who asks, and whose methods that may call.
    /// - Throws: ``ServerError`` when the kernel does not know the peer.
    func asker(on socket: CInt, agentGroup: UInt32? = nil) throws(ServerError) -> Asker {
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
            role: agentGroup == peer.gid ? .agent : .app,
            isStill: isStill
        )
    }
}
