package import KeychainModel
import SecretMemory
import Synchronization

/// The calls of one caller between the opening and the closing of its door: its identity, contexts and proofs.
///
/// Each call is one use case: it checks the caller, unlocks and prompts if needed, and returns a value or throws a
/// ``KeychainError`` whose cause is known; failures are logged. The door numbers requests; two that run concurrently have
/// different numbers. Cancelling the task of a call dismisses its prompt.
package final class Visit: Sendable {
    /// The visit's number, unique among all visits.
    package let number: UInt64
    let desk: Desk
    let services: KeychainServices
    let limits: DeskLimits
    let memory: LockedMemory
    let asker: Asker
    let contexts: ContextTable
    let failures: FailureLog
    /// The export being received; discarded with the visit.
    let arriving = Guarded<(any ExportFile)?>(nil)
    private let stopFlag = Atomic(false)

    init(_ number: UInt64, at desk: Desk, by asker: Asker, contexts: ContextTable) {
        self.number = number
        self.desk = desk
        self.asker = asker
        self.contexts = contexts
        services = desk.services
        limits = desk.limits
        memory = desk.memory
        failures = desk.failures
    }

    /// The caller, as of the last check.
    package var caller: Caller { asker.caller }
    /// The caller with what started its program, for records.
    package var callerWithStarters: Caller { asker.callerWithStarters }
    /// The caller's role, which decides its methods.
    package var role: AskerRole { asker.role }
    /// The groups the caller may use, as of the last check.
    ///
    /// Throws `errSecNotAvailable` if the program could not be looked up: access to a program's items needs its name.
    var groups: EntitledGroups { get throws(KeychainError) { try asker.groups() } }

    /// Asks for this program from now on.
    ///
    /// - Returns: its file; nil if the program could not be identified.
    /// - Throws: ``KeychainError`` with `errSecMissingEntitlement` if the caller is no door, or asks for a program already.
    @discardableResult
    package func represent(_ program: Asker) throws(KeychainError) -> ProgramFile? {
        guard asker.represent(program) else {
            desk.failures.recordRefusal("represent called again, or by a program that is no door", by: caller)
            throw KeychainError(.missingEntitlement)
        }
        return program.file
    }

    // MARK: The end

    /// Whether the daemon is ending: tasks are then cancelled by the system, not by the app.
    package var isStopping: Bool { stopFlag.load(ordering: .acquiring) }

    /// Marks the daemon as ending: later cancellations are attributed to it, not to the app.
    package func stop() { stopFlag.store(true, ordering: .releasing) }

    /// Wipes the contexts; no call may follow.
    package func end() { desk.end(number) }

    deinit { desk.end(number) }

    // MARK: Contexts

    /// Wipes a context and refuses its number from now on.
    ///
    /// - Returns: the requests that use it now, which the door cancels.
    package func invalidateContext(_ number: UInt64) -> Set<UInt64> { contexts.invalidate(number) }

    /// Sets or removes a context's application password.
    ///
    /// - Throws: `errSecAllocate` if no locked memory is left for it, `errSecParam` if it is too long,
    ///   `errSecNotAvailable` if the program could not be looked up: none of its items could be opened here.
    package func setPassword(_ body: consuming SetCredential) async throws(KeychainError) {
        try await serving(.setCredential) { () throws(KeychainError) in
            _ = try groups
            try contexts.setPassword(body.password, of: body.context)
        }
    }

    // MARK: Who asks

    /// Checks the caller again; the proofs of the original program are discarded if another program has the channel.
    ///
    /// - Parameter sender: the process that sent the latest data; nil if the door does not know it.
    /// - Returns: whether the caller is the same as at the last check.
    @discardableResult
    package func checkAsker(sender: Int32? = nil) -> Bool {
        (sender.map { asker.check(sender: $0) } ?? asker.check()) || isAnotherNow()
    }

    /// The origin and text of a prompt, which names the calling program as of now; its misses go to ``MissedTouch/listener``
    /// if the client asks for them.
    func request(_ prompt: PromptFields) -> PromptRequest {
        checkAsker()
        var request = prompt.request(by: asker.callerWithStarters)
        request.allowsFinger = allowsFingers
        if prompt.tellsMisses { request.onMiss = MissedTouch.listener?.tell }
        return request
    }

    /// Discards the proofs of the original program, and logs the change; returns false.
    private func isAnotherNow() -> Bool {
        contexts.forgetProofs()
        let detail = "another program on the connection of \(asker.programThatCame ?? "one")"
        desk.failures.recordRefusal(detail, kind: "another program", by: asker.callerWithStarters)
        return false
    }

    /// Checks the caller after a prompt: only the program that the prompt named may get the result.
    func requireSameAsker() throws(KeychainError) {
        guard checkAsker() else {
            throw KeychainError(.missingEntitlement, cause: DriverCause(domain: "caller", code: "changed"))
        }
    }

    // MARK: Calls

    /// Runs a call for the present caller; its failure is logged.
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

    /// Returns the error of a call, and logs it if a part failed.
    func failed(_ error: KeychainError, _ method: Method) -> KeychainError {
        failures.record(error, of: method, by: asker.callerWithStarters)
        return error
    }

    /// Prompts the user, and rethrows an authentication error as the error of a call.
    func asking<R: ~Copyable>(
        _ ask: () async throws(AuthenticationError) -> R
    ) async throws(KeychainError) -> R {
        do throws(AuthenticationError) {
            return try await ask()
        } catch {
            throw KeychainError(asEnded(error))
        }
    }

    /// An evaluation cancelled because the daemon ends was not cancelled by the app.
    func asEnded(_ error: AuthenticationError) -> AuthenticationError {
        guard error.code == .appCancel, isStopping else { return error }
        return AuthenticationError(.systemCancel, cause: error.cause, remedy: .retry)
    }
}
