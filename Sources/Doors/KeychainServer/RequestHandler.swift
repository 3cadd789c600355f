import Desk
import KeychainModel
import SecretMemory

/// Serves the requests of one connection: turns each into a call of the desk, and the result into a reply.
struct RequestHandler: Sendable {
    /// Sends one message to the client.
    typealias Reply = @Sendable (borrowing SecretBuffer) throws(WireError) -> Void

    let visit: Visit
    /// Identifies the program for which a door asks.
    let identify: @Sendable (RepresentedProgram) -> Asker
    /// Whether a short reply can be sent without waiting for the client to read.
    let hasRoom: @Sendable () -> Bool

    /// Serves one request up to its last reply.
    ///
    /// - Throws: ``WireError`` if the client no longer accepts replies.
    func serve(
        _ request: consuming Request,
        of asked: RequestHead,
        reply: @escaping Reply
    ) async throws(WireError) {
        let head = ReplyHead(id: asked.id)
        do {
            if request.tellsMisses {
                let box = RequestBox(request)
                try await MissedTouch.$listener.withValue(MissListener(missTeller(asked.id, reply))) {
                    if let request = box.take() { try await dispatch(request, head, reply) }
                }
            } else {
                try await dispatch(request, head, reply)
            }
        } catch let error as KeychainError {
            try reply(Self.failed(error, id: head.id))
        } catch {
            throw error as? WireError ?? .closed
        }
    }

    private func dispatch(
        _ request: consuming Request,
        _ head: ReplyHead,
        _ reply: @escaping Reply
    ) async throws {
        let id = head.id
        switch consume request {
        case .addItem(let body):
            let items = try await visit.add(body, request: id)
            try reply(ItemsReply.message(head: head, items: items))
        case .copyItems(let body): try await copy(body, id, reply)
        case .updateItems(let body):
            try reply(head.message(CountBody(try await visit.update(body, request: id))))
        case .deleteItems(let body): try reply(head.message(try await visit.delete(body)))
        case .replaceItem(let body): try reply(head.message(try await visit.replace(body, request: id)))
        case .eraseItems(let body): try reply(head.message(try await visit.erase(body)))
        case .makeKey(let body): try reply(head.message(KeyReply(try await visit.makeKey(body, request: id))))
        case .readKey(let body): try reply(head.message(KeyReply(try await visit.readKey(body))))
        case .useKey(let body):
            let result = KeyResult(try await visit.useKey(body, request: id))
            try reply(head.message(result))
        case .attestKey(let body): try reply(head.message(try await visit.attestKey(body, request: id)))
        case .attestationIdentity: try reply(head.message(try await visit.attestationIdentity()))
        case .activateCredential(let challenge):
            let result = KeyResult(try await visit.activateCredential(challenge))
            try reply(head.message(result))
        case .quoteBoot(let body): try reply(head.message(try await visit.quoteBoot(body)))
        case .evaluatePolicy(let body): try reply(head.message(try await visit.evaluate(body, request: id)))
        case .evaluateAccessControl(let body):
            try reply(head.message(try await visit.evaluate(body, request: id)))
        case .canEvaluatePolicy(let body):
            try reply(head.message(AvailabilityReply(try await visit.availability(of: body))))
        case .lastAuthentications: try reply(head.message(try await visit.lastAuthentications()))
        case .setCredential(let body):
            try await visit.setPassword(body)
            try reply(head.message(EmptyBody()))
        case .listApps: try reply(head.message(try await visit.apps()))
        case .moveItems(let body):
            let outcome = try await telling(progress(head, reply)) { try await visit.move(body, request: id) }
            try reply(head.message(outcome))
        case .switchFingers(let body):
            try await visit.switchFingers(body, request: id)
            try reply(head.message(EmptyBody()))
        case .readProtection: try reply(head.message(try await visit.protection()))
        case .changeProtection(let body):
            try await visit.changeProtection(body, request: id)
            try reply(head.message(EmptyBody()))
        case .represent(let body):
            try reply(head.message(RepresentedReply(try visit.represent(identify(body)))))
        case .agentRegister(let body): try reply(head.message(try await visit.registerAgent(body)))
        case .agentNext:
            let box = try await visit.nextBox()
            try reply(head.message(box))
        case .agentShown(let body):
            try await visit.boxIsShown(body)
            try reply(head.message(EmptyBody()))
        case .agentAnswer(let body):
            try await visit.boxIsAnswered(body)
            try reply(head.message(EmptyBody()))
        case .agentGone(let body):
            try await visit.boxIsUnwanted(body)
            try reply(head.message(EmptyBody()))
        case .agentCheck(let body):
            try await visit.boxIsChecked(body)
            try reply(head.message(EmptyBody()))
        case .agentJudge(let body): try reply(head.message(try await visit.judge(body)))
        case let other: try await dispatchKeybag(other, head, reply)
        }
    }

    /// Serves the requests that concern the keybag and the store.
    private func dispatchKeybag(
        _ request: consuming Request,
        _ head: ReplyHead,
        _ reply: @escaping Reply
    ) async throws {
        switch consume request {
        case .status(let prompt): return try reply(head.message(try await visit.status(prompt)))
        case .check:
            let report = try await telling(progress(head, reply)) { try await visit.check() }
            return try reply(head.message(CheckReply(report)))
        case .watch(let request): try await watch(request, head, reply)
        case .setUp(let prompt): try await visit.setUp(prompt)
        case .unlock(let prompt): try await visit.unlock(prompt)
        case .lock(let request): try await visit.lock(after: request.seconds)
        case .changePasscode(let prompt): try await visit.changePasscode(prompt)
        case .recover(let prompt): try await visit.recover(prompt)
        case .migrate(let prompt): try await visit.migrate(prompt)
        case .protectLockout(let prompt): try await visit.protectLockout(prompt)
        case .startOver(let prompt): try await visit.startOver(prompt)
        case .changeRecoveryCode(let prompt): try await visit.changeRecoveryCode(prompt)
        case .checkRecoveryCode(let prompt): try await visit.checkRecoveryCode(prompt)
        case .exportKeychain(let prompt):
            return try await export(head, reply) { try await visit.exportKeychain(prompt, deliver: $0) }
        case .backUp(let prompt):
            return try await export(head, reply) { deliver in
                try await visit.backUp(prompt, request: head.id, deliver: deliver)
            }
        case .sendImport(let part): try await visit.takeImport(part)
        case .importKeychain(let prompt):
            let count = try await telling(progress(head, reply)) { try await visit.importKeychain(prompt) }
            return try reply(head.message(CountBody(count)))
        case .openExport(let body): return try await openExport(body, head, reply)
        case .repair(let body):
            let repair = try await telling(progress(head, reply)) { try await visit.repair(body) }
            return try reply(head.message(RepairReply(repair)))
        // `dispatch` serves the others, and the connection itself serves hello and cancellations before any request
        // that waits.
        default: throw KeychainError(.badReq)
        }
        try reply(head.message(EmptyBody()))
    }

    // MARK: Replies

    /// The reply to a request that failed.
    static func failed(_ error: KeychainError, id: UInt64) -> SecretBuffer {
        ReplyHead(id: id, status: error.status).message(Failure(error))
    }

    /// Sends the found items page by page.
    private func copy(_ body: CopyItems, _ id: UInt64, _ reply: Reply) async throws {
        let isWhole = try await visit.copy(body, request: id) { page, isLast in
            Self.isSent(ItemsReply.message(head: ReplyHead(id: id, more: !isLast), items: page), reply)
        }
        guard isWhole else { throw WireError.closed }
    }

    /// Sends the export that `make` delivers part by part, with its progress before each part is ready.
    private func export(
        _ head: ReplyHead,
        _ reply: @escaping Reply,
        _ make: (_ deliver: (ExportPart, Bool) -> Bool) async throws -> Bool
    ) async throws {
        let progress = progress { done, total in
            let part = ExportPart(progress: ProgressBody(done: done, total: total))
            try reply(ReplyHead(id: head.id, more: true).message(part))
        }
        let isWhole = try await telling(progress) {
            try await make { part, isLast in
                Self.isSent(ReplyHead(id: head.id, more: !isLast).message(part), reply)
            }
        }
        guard isWhole else { throw WireError.closed }
    }

    /// Sends the items of an export, with the progress in between.
    private func openExport(_ body: ExportRequest, _ head: ReplyHead, _ reply: @escaping Reply) async throws {
        let progress = progress { done, total in
            let step = ExportItems(progress: ProgressBody(done: done, total: total))
            try reply(ReplyHead(id: head.id, more: true).message(step))
        }
        let isWhole = try await telling(progress) {
            try await visit.openExport(body) { items, isLast in
                Self.isSent(ReplyHead(id: head.id, more: !isLast).message(items), reply)
            }
        }
        guard isWhole else { throw WireError.closed }
    }

    /// Sends changes; a client that does not read gets none, and is told later that it missed some.
    private func watch(_ request: WatchRequest, _ head: ReplyHead, _ reply: Reply) async throws {
        var isThere = true
        try await visit.watch(request, hasRoom: hasRoom) { changes in
            isThere = Self.isSent(ReplyHead(id: head.id, more: true).message(changes), reply)
            return isThere
        }
        guard isThere else { throw WireError.closed }
    }

    /// Whether the client accepted a message.
    private static func isSent(_ message: borrowing SecretBuffer, _ reply: Reply) -> Bool {
        do throws(WireError) {
            try reply(message)
            return true
        } catch {
            return false
        }
    }

    /// Sends a notice for each miss at a prompt of a request, while the client reads; the engine waits meanwhile.
    private func missTeller(_ id: UInt64, _ reply: @escaping Reply) -> @Sendable (MissedTouch) -> Void {
        { [hasRoom] miss in
            guard hasRoom() else { return }
            _ = Self.isSent(ReplyHead(noticeAbout: id).message(miss), reply)
        }
    }

    // MARK: Progress

    private func telling<R: Sendable>(
        _ progress: WorkProgress,
        _ call: () async throws -> R
    ) async throws -> R {
        try await WorkProgress.$current.withValue(progress) { try await call() }
    }

    /// Reports a request's progress to its client, while the client reads.
    private func progress(_ head: ReplyHead, _ reply: @escaping Reply) -> WorkProgress {
        progress { done, total in
            try reply(ReplyHead(id: head.id, more: true).message(ProgressBody(done: done, total: total)))
        }
    }

    /// Reports progress with a message of the request's own.
    private func progress(_ tell: @escaping @Sendable (Int, Int) throws -> Void) -> WorkProgress {
        WorkProgress { [hasRoom] done, total in
            // The engine waits meanwhile: a client that does not read is skipped.
            guard total > 0, hasRoom() else { return }
            try? tell(done, total)
        }
    }
}
