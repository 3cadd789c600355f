package import KeychainModel
import SecretMemory
import Synchronization

/// One caller's calls, from the door's opening to its closing: who asks, and what was shown for it.
///
/// Each call is one use case: it looks who asks, unlocks and asks the user where that is needed, and answers with a value
/// or throws a ``KeychainError`` whose cause is known; a failure is told to the log. Numbers of requests are the
/// door's; two that run at the same time have different ones. Cancelling the task of a call takes its prompt away.
package final class Visit: Sendable {
    /// Its number, which no other visit has.
    package let number: UInt64
    let desk: Desk
    let services: KeychainServices
    let limits: DeskLimits
    let budget: LockedMemoryBudget
    let asker: Asker
    let contexts: ContextTable
    let failures: FailureLog
    /// The export that is being received, gone with the visit.
    let arriving = Guarded<(any ExportFile)?>(nil)
    private let stopFlag = Atomic(false)

    init(_ number: UInt64, at desk: Desk, by asker: Asker, contexts: ContextTable) {
        self.number = number
        self.desk = desk
        self.asker = asker
        self.contexts = contexts
        services = desk.services
        limits = desk.limits
        budget = desk.memory.requests
        failures = desk.failures
    }

    /// Who asks, as of the last look.
    package var caller: Caller { asker.caller }
    /// Whose methods the caller may call.
    package var role: AskerRole { asker.role }
    /// What it may use, as of the last look.
    ///
    /// Throws `errSecNotAvailable` where nobody could look who it is: what belongs to a program takes its name.
    var groups: EntitledGroups { get throws(KeychainError) { try asker.groups() } }

    // MARK: The end

    /// Whether the daemon is ending: tasks are then cancelled by the system, not by the app.
    package var isStopping: Bool { stopFlag.load(ordering: .acquiring) }

    /// From now on, what is cancelled was cancelled because the daemon ends.
    package func stop() { stopFlag.store(true, ordering: .releasing) }

    /// Wipes what the contexts held; no call may follow.
    package func end() { desk.end(number) }

    deinit { desk.end(number) }

    // MARK: Contexts

    /// Wipes a context and refuses it from now on.
    ///
    /// - Returns: the requests that work with it now, which the door cancels.
    package func invalidateContext(_ number: UInt64) -> Set<UInt64> { contexts.invalidate(number) }

    /// Sets or removes a context's application password.
    ///
    /// - Throws: `errSecAllocate` when there is no locked memory for one more, `errSecParam` for one that is too long,
    ///   `errSecNotAvailable` where nobody could look who asks: no item would open here that it is for.
    package func setPassword(_ body: consuming SetCredential) async throws(KeychainError) {
        try await serving(.setCredential) { () throws(KeychainError) in
            _ = try groups
            try contexts.setPassword(body.password, of: body.context)
        }
    }

    // MARK: Who asks

    /// Looks who asks now: what was shown for the program that came is nothing for another one.
    ///
    /// - Parameter sender: the process that sent something just now; nil where the door does not know it.
    /// - Returns: whether it is the same as at the last look.
    @discardableResult
    package func checkAsker(sender: Int32? = nil) -> Bool {
        (sender.map { asker.check(sender: $0) } ?? asker.check()) || isAnotherNow()
    }

    /// What a box is shown for: names the program as it is found to be now.
    func request(_ prompt: PromptFields) -> PromptRequest {
        checkAsker()
        return prompt.request(by: caller)
    }

    /// Forgets what was shown for the program that came, and tells the log; false.
    private func isAnotherNow() -> Bool {
        contexts.forgetProofs()
        let detail = "another program on the connection of \(asker.programThatCame ?? "one")"
        services.audit.record(AuditEvent(.clientRefused, caller: caller, detail: detail))
        return false
    }

    /// The same, for a call whose user has just been asked: nothing is given to another program than was named.
    func requireSameAsker() throws(KeychainError) {
        guard checkAsker() else {
            throw KeychainError(.missingEntitlement, cause: DriverCause(domain: "caller", code: "changed"))
        }
    }

    // MARK: Calls

    /// Runs a call of the one who asks now; its failure is told to the log.
    func serving<R: ~Copyable>(
        _ method: Method,
        seeking query: ItemQuery? = nil,
        _ call: () async throws(KeychainError) -> R
    ) async throws(KeychainError) -> R {
        checkAsker()
        do throws(KeychainError) {
            return try await call()
        } catch {
            throw failed(await naming(ownerFor: query, error), method)
        }
    }

    /// The error of a call, which the log is told of where a part failed.
    func failed(_ error: KeychainError, _ method: Method) -> KeychainError {
        failures.record(error, of: method, by: caller)
        return error
    }

    /// Asks the user, and throws what comes of it as the error of a call.
    func asking<R: ~Copyable>(
        _ ask: () async throws(AuthenticationError) -> R
    ) async throws(KeychainError) -> R {
        do throws(AuthenticationError) {
            return try await ask()
        } catch {
            throw KeychainError(asEnded(error))
        }
    }

    /// An evaluation that was cancelled because the daemon ends was not cancelled by the app.
    func asEnded(_ error: AuthenticationError) -> AuthenticationError {
        guard error.code == .appCancel, isStopping else { return error }
        return AuthenticationError(.systemCancel, cause: error.cause, remedy: .retry)
    }
}
