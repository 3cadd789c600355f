import KeychainModel
import SecretMemory

/// Serves the requests of one connection; dispatches over the ports and knows nothing of sockets.
struct RequestHandler: Sendable {
    /// Sends one message to the client.
    typealias Reply = @Sendable (borrowing SecretBuffer) throws(WireError) -> Void

    let services: KeychainServices
    let limits: RequestLimits
    let budget: LockedMemoryBudget
    let peer: Peer
    let contexts: ContextTable
    let failures: FailureLog
    /// Whether the daemon is ending: tasks are then cancelled by the system, not by the app.
    let isStopping: @Sendable () -> Bool
    /// Whether a short reply can be sent without waiting for the client to read.
    let hasRoom: @Sendable () -> Bool
    /// Tells all connections that the keybag was locked.
    let didLock: @Sendable () -> Void
    /// Who asks, as of the last look.
    var caller: Caller { peer.caller }
    /// What it may use, as of the last look.
    var groups: EntitledGroups { peer.groups }

    /// The export that comes over this connection, gone with it.
    let arriving = Guarded<(any ExportFile)?>(nil)

    /// Serves one request to its last reply.
    ///
    /// - Throws: ``WireError`` when the client takes no replies any more.
    func serve(
        _ request: consuming Request,
        of asked: RequestHead,
        reply: @escaping Reply
    ) async throws(WireError) {
        let head = ReplyHead(id: asked.id)
        let failure: KeychainError
        checkPeer()
        let query = request.query
        do {
            switch consume request {
            case .addItem(let body): try await add(body, head: head, reply: reply)
            case .copyItems(let body): try await copy(body, head: head, reply: reply)
            case .updateItems(let body):
                let count = try await update(body, request: head.id)
                try reply(head.message(CountBody(count)))
            case .deleteItems(let body):
                let count = try await delete(body)
                try reply(head.message(CountBody(count)))
            case .makeKey(let body):
                let key = try await makeKey(body, request: head.id)
                try reply(head.message(KeyReply(key)))
            case .readKey(let body):
                let key = try await readKey(body)
                try reply(head.message(KeyReply(key)))
            case .useKey(let body):
                let result = KeyResult(try await useKey(body, request: head.id))
                try reply(head.message(result))
            case .attestKey(let body):
                let attestation = try await attestKey(body, request: head.id)
                try reply(head.message(attestation))
            case .attestationIdentity:
                let identity = try await services.keys.attestationIdentity()
                try reply(head.message(identity))
            case .activateCredential(let challenge):
                let secret = try await services.keys.activate(challenge)
                try reply(head.message(KeyResult(secret)))
            case .evaluatePolicy(let body):
                let result = try await evaluate(body, request: head.id)
                try reply(head.message(result))
            case .evaluateAccessControl(let body):
                let result = try await evaluate(body, request: head.id)
                try reply(head.message(result))
            case .canEvaluatePolicy(let body):
                let result = try await availability(of: body)
                try reply(head.message(AvailabilityReply(result)))
            case .status(let prompt): try reply(head.message(await status(prompt)))
            case .check:
                let report = await WorkProgress.$current.withValue(progress(head, reply)) {
                    await services.vault.check()
                }
                try reply(head.message(CheckReply(report)))
            case .setUp(let prompt):
                try await keybag(prompt, services.authenticator.setUp)
                try reply(head.message(EmptyBody()))
            case .unlock(let prompt):
                try await keybag(prompt) { request async throws(AuthenticationError) in
                    _ = try await services.authenticator.unlock(request)
                }
                try reply(head.message(EmptyBody()))
            case .lock:
                await services.authenticator.lock()
                didLock()
                try reply(head.message(EmptyBody()))
            case .changePasscode(let prompt):
                try await keybag(prompt, services.authenticator.changePasscode)
                try reply(head.message(EmptyBody()))
            case .recover(let prompt):
                try await keybag(prompt, services.authenticator.recover)
                try reply(head.message(EmptyBody()))
            case .migrate(let prompt):
                try await keybag(prompt, services.authenticator.migrate)
                try reply(head.message(EmptyBody()))
            case .protectLockout(let prompt):
                try await keybag(prompt, services.authenticator.protectLockout)
                try reply(head.message(EmptyBody()))
            case .exportKeychain(let prompt): try await exportKeychain(prompt, head: head, reply: reply)
            case .sendImport(let part):
                try await takeImport(part)
                try reply(head.message(EmptyBody()))
            case .importKeychain(let prompt):
                let count = try await WorkProgress.$current.withValue(progress(head, reply)) {
                    try await importKeychain(prompt)
                }
                try reply(head.message(CountBody(count)))
            case .repair(let body):
                let repair = try await WorkProgress.$current.withValue(progress(head, reply)) {
                    try await self.repair(body)
                }
                try reply(head.message(RepairReply(repair)))
            case .setCredential(let body):
                try contexts.setPassword(body.password, of: body.context)
                try reply(head.message(EmptyBody()))
            case .listApps: try reply(head.message(try await apps()))
            case .moveItems(let body):
                let outcome = try await move(body, request: head.id)
                try reply(head.message(outcome))
            // The connection answers these itself, before anything that waits.
            case .hello: throw KeychainError(.badReq)
            case .invalidateContext: throw KeychainError(.badReq)
            case .cancel: throw KeychainError(.badReq)
            }
            return
        } catch let error as KeychainError {
            failure = await naming(ownerFor: query, error)
        } catch let error as AuthenticationError {
            failure = KeychainError(asEnded(error))
        } catch let error as WireError {
            throw error
        } catch {
            // Its type alone: nobody knows what its text would tell.
            let cause = DriverCause(domain: "touchstone", code: "\(type(of: error))")
            failure = KeychainError(.internalComponent, cause: cause)
        }
        try reply(failed(failure, asked.method, head))
    }

    /// Tells a client how far its request is, where it reads what it is told.
    private func progress(_ head: ReplyHead, _ reply: @escaping Reply) -> WorkProgress {
        progress { done, total in
            try reply(ReplyHead(id: head.id, more: true).message(ProgressBody(done: done, total: total)))
        }
    }

    /// The same, in words of the request's own.
    func progress(_ tell: @escaping @Sendable (Int, Int) throws -> Void) -> WorkProgress {
        WorkProgress { [hasRoom] done, total in
            // The engine waits meanwhile: a client that does not read is told nothing.
            guard total > 0, hasRoom() else { return }
            try? tell(done, total)
        }
    }

    /// Serves a request on the caller's own thread, where nobody has to be waited for.
    ///
    /// - Returns: false, and nothing was done, where ``serve(_:of:reply:)`` has to.
    func serveAtOnce(_ request: borrowing Request, id: UInt64, reply: Reply) throws(WireError) -> Bool {
        let head = ReplyHead(id: id)
        checkPeer()
        switch request {
        case .addItem(let body): return try addAtOnce(body, head: head, reply: reply)
        case .copyItems(let body): return try copyAtOnce(body, head: head, reply: reply)
        case .updateItems(let body): return try updateAtOnce(body, head: head, reply: reply)
        case .deleteItems(let body): return try deleteAtOnce(body, head: head, reply: reply)
        default: return false
        }
    }

    /// Looks who asks now: what was shown for the program that connected is nothing for another one.
    ///
    /// - Returns: whether it is the same as at the last look.
    @discardableResult
    func checkPeer(sender: Int32? = nil) -> Bool {
        guard !(sender.map { peer.check(sender: $0) } ?? peer.check()) else { return true }
        contexts.forgetProofs()
        let detail = "another program on the connection of \(peer.programThatConnected ?? "one")"
        services.audit.record(AuditEvent(.clientRefused, caller: caller, detail: detail))
        return false
    }

    /// The same, for a request whose user has just been asked: nothing is given to another program than was named.
    func requireSamePeer() throws(KeychainError) {
        guard checkPeer() else {
            throw KeychainError(.missingEntitlement, cause: DriverCause(domain: "caller", code: "changed"))
        }
    }

    /// The reply to a request that failed, which the log is told of where a part failed.
    func failed(_ error: KeychainError, _ method: Method, _ head: ReplyHead) -> SecretBuffer {
        failures.record(error, of: method, by: caller)
        return ReplyHead(id: head.id, status: error.status).message(Failure(error))
    }

    /// An evaluation that was cancelled because the daemon ends was not cancelled by the app.
    func asEnded(_ error: AuthenticationError) -> AuthenticationError {
        guard error.code == .appCancel, isStopping() else { return error }
        return AuthenticationError(.systemCancel, cause: error.cause, remedy: .retry)
    }

    /// Runs one of the flows of the keybag.
    private func keybag(
        _ prompt: PromptFields,
        _ flow: (PromptRequest) async throws(AuthenticationError) -> Void
    ) async throws(KeychainError) {
        guard prompt.interactionAllowed else { throw KeychainError(AuthenticationError(.notInteractive)) }
        checkPeer()
        do throws(AuthenticationError) {
            try await flow(prompt.request(by: caller))
        } catch {
            throw KeychainError(asEnded(error))
        }
        try requireSamePeer()
    }

    private func status(_ prompt: PromptFields?) async -> StatusReply {
        let assurance = await services.keybag.assurance()
        return StatusReply(
            keybag: await services.keybag.state(),
            assurance: assurance.assurance,
            assuranceReasons: assurance.reasons,
            authentication: await services.authenticator.status(),
            promptFault: await services.promptFault(prompt?.origin),
            daemonVersion: services.daemonVersion,
            daemonProcess: DaemonProcess.number,
            storeFaults: await services.vault.storeFaults(),
            itemsFault: await services.vault.itemsFault()
        )
    }
}
