internal import AccountStore

private enum Statements {
    static let touch = SQLStatement("UPDATE sessions SET last_used_at = $3 WHERE account = $1 AND id = $2")
    static let replace = SQLStatement("UPDATE refresh_tokens SET replaced_at = $2 WHERE digest = $1")
    static let successorUsed = SQLStatement("UPDATE refresh_tokens SET successor_used = 1 WHERE digest = $1")
}

extension SQLConnection {
    func refresh(_ request: RefreshRequest) throws -> RefreshOutcome {
        guard let stored = try refreshToken(request.token) else { return .refused(.unknownToken) }
        var audit = request.audit.of(stored.session.account)
        audit.session = stored.session.id
        let head = try rows([auditHead(of: audit)])[0]
        if let refusal = try refusal(of: request, stored) {
            let name: AuditEvent.Name = refusal == .reused ? .tokenReuse : .loginFail
            try appendAudit([audit.saying(name, reason: refusal.rawValue)], after: head, now: request.now)
            return .refused(refusal)
        }
        var session = stored.session
        session.lastUsedAt = request.now
        if stored.replacedAt == nil {
            try execute(Statements.replace, key(of: request.token), .of(request.now))
        }
        if let parent = stored.parent { try execute(Statements.successorUsed, key(of: parent)) }
        try insertRefresh(request.tokens.refresh, of: session, epoch: stored.epoch, after: request.token)
        try insertAccess(request.tokens, of: session, epoch: stored.epoch)
        try execute(Statements.touch, .of(session.account), .of(session.id), .of(request.now))
        try appendAudit([audit], after: head, now: request.now)
        return .renewed(session)
    }

    private func refusal(of request: RefreshRequest, _ stored: StoredRefreshToken) throws -> RefreshRefusal? {
        let session = stored.session
        // The key is checked first: a request with a stolen bound token, but without its key, learns nothing and ends
        // nothing.
        if let thumbprint = session.thumbprint, thumbprint != request.thumbprint { return .otherKey }
        if let proof = request.proof, try takeProof(proof) == .replayed { return .proofReplayed }
        guard stored.account.lockedAt == nil else { return .accountLocked }
        if request.tokens.needsKey, session.thumbprint == nil { return .noKey }
        guard session.task == nil || request.tokens.grant == nil else { return .limitedSession }
        guard session.refreshExpiresAt > request.now else {
            try removeSession(session.id, of: session.account)
            return .expired
        }
        if let replacedAt = stored.replacedAt {
            let grace = session.thumbprint == nil ? Limits.refreshGrace : Limits.boundRefreshGrace
            guard !stored.isSuccessorUsed, request.now <= replacedAt + grace else {
                try removeSession(session.id, of: session.account)
                return .reused
            }
        }
        return nil
    }
}
