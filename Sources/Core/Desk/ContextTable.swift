import KeychainModel
import SecretMemory

/// The proofs and application passwords held by the contexts of one visit; wiped with the visit.
///
/// The caller numbers its contexts and never reuses a number.
final class ContextTable: Sendable {
    /// Numbers from here on are the daemon's: contexts of a single request.
    private static let firstOwnNumber: UInt64 = 1 << 63
    /// The most invalidated numbers remembered; a forgotten number would be accepted as a new, empty context.
    private static let mostInvalidated = 1 << 16

    private struct Context {
        var proofs: [AuthenticationProof] = []
        var applicationPassword: ApplicationPassword?
        /// Whether the user typed the password at a prompt, rather than the app setting it.
        var isPasswordTyped = false
        /// The locked memory reserved for the password.
        var passwordRoom: LockedMemoryBudget.Reservation?
        /// Requests that use the context now.
        var requests: Set<UInt64> = []
        /// When each of them began, if proofs end in this context.
        var begins: [UInt64: BootTime] = [:]
        var lastUse: UInt64 = 0

        var isIdle: Bool { requests.isEmpty }
        var isEmpty: Bool { proofs.isEmpty && applicationPassword == nil }

        mutating func forgetTypedPassword() {
            guard isPasswordTyped else { return }
            (applicationPassword, passwordRoom, isPasswordTyped) = (nil, nil, false)
        }

        /// Discards the proofs whose time has passed, for new requests and for those that use the context.
        mutating func endProofs(after lifetime: Duration, at now: BootTime) {
            let times = begins.values + [now]
            proofs.removeAll { proof in !times.contains { ContextTable.counts(proof, at: $0, lifetime) } }
        }
    }

    private struct State {
        var contexts: [UInt64: Context] = [:]
        var invalidated: Set<UInt64> = []
        var uses: UInt64 = 0
    }

    private let visit: UInt64
    private let limits: DeskLimits
    private let budget: LockedMemoryBudget
    private let clock: any BootClock
    private let state = Guarded(State())

    /// Creates an empty table; its passwords use memory of `budget`.
    init(visit: UInt64, limits: DeskLimits, budget: LockedMemoryBudget, clock: any BootClock) {
        self.clock = clock
        self.visit = visit
        self.budget = budget
        self.limits = limits
    }

    /// Registers a request with a context; without a number, with a new context of its own, which the table has from its
    /// first proof on: most requests need none.
    ///
    /// - Throws: ``KeychainError`` `errSecAuthFailed` for an invalidated context.
    func enter(_ number: UInt64?, request: UInt64) throws(KeychainError) -> ContextID {
        guard let number else {
            return ContextID(connection: visit, number: Self.firstOwnNumber | request)
        }
        try state.withLock { state throws(KeychainError) in
            try Self.check(number, in: state, ownAllowed: false)
            let begin = Self.lifetime(of: number).map { _ in clock.now() }
            touch(number, in: &state) { held in
                held.requests.insert(request)
                held.begins[request] = begin
            }
        }
        return ContextID(connection: visit, number: number)
    }

    /// Unregisters a request; a context that is then unused and empty is removed.
    func leave(_ context: ContextID, request: UInt64) {
        state.withLock { state in
            guard var held = state.contexts[context.number] else { return }
            held.requests.remove(request)
            if let lifetime = Self.lifetime(of: context.number) {
                held.begins[request] = nil
                held.endProofs(after: lifetime, at: clock.now())
            }
            let isOver = held.isIdle && (held.isEmpty || context.number >= Self.firstOwnNumber)
            state.contexts[context.number] = isOver ? nil : held
        }
    }

    /// The proofs and the application password of a context.
    ///
    /// - Parameters:
    ///   - context: the context.
    ///   - request: a request that entered it; nil for none. Proofs whose time ends while it runs count for it until its end.
    /// - Returns: both.
    /// - Throws: ``KeychainError`` `errSecAuthFailed` for an invalidated context.
    func authorization(of context: ContextID, for request: UInt64? = nil) throws(KeychainError)
        -> ItemAuthorization
    {
        try state.withLock { state throws(KeychainError) in
            try Self.check(context.number, in: state, ownAllowed: true)
            guard let held = state.contexts[context.number] else { return ItemAuthorization() }
            var proofs = held.proofs
            if let lifetime = Self.lifetime(of: context.number) {
                let begin = request.flatMap { held.begins[$0] } ?? clock.now()
                proofs.removeAll { !Self.counts($0, at: begin, lifetime) }
            }
            return ItemAuthorization(proofs: proofs, applicationPassword: held.applicationPassword)
        }
    }

    /// Adds a proof, which is discarded after the context's time; throws if the context was invalidated meanwhile.
    func add(_ proof: AuthenticationProof, to context: ContextID) throws(KeychainError) {
        defer { endProofsInTime(of: context) }
        try state.withLock { state throws(KeychainError) in
            try fill(context, in: &state) { held in
                held.proofs.append(proof)
                held.proofs.removeFirst(max(0, held.proofs.count - limits.proofsPerContext))
            }
        }
    }

    /// Whether a proof counts at a time; one of another boot does not.
    private static func counts(_ proof: AuthenticationProof, at time: BootTime, _ lifetime: Duration) -> Bool
    {
        time.since(proof.time).map { $0 < lifetime } ?? false
    }

    /// Wipes what the proofs hold also if the context is never used again.
    private func endProofsInTime(of context: ContextID) {
        guard let lifetime = Self.lifetime(of: context.number) else { return }
        Task { [weak self] in
            try? await Task.sleep(for: lifetime + .milliseconds(1))
            guard let self else { return }
            state.withLock { $0.contexts[context.number]?.endProofs(after: lifetime, at: clock.now()) }
        }
    }

    /// How long a proof counts; nil for as long as its context exists.
    private static func lifetime(of number: UInt64) -> Duration? {
        number < firstOwnNumber ? ContextLifetime.of(number) : nil
    }

    /// Adds an application password that the user typed; it is discarded as the proofs are.
    ///
    /// - Throws: ``KeychainError`` `errSecAllocate` if no locked memory is left for it, `errSecAuthFailed` if the context was
    ///   invalidated meanwhile.
    func keep(typed password: borrowing SecretBytes, in context: ContextID) throws(KeychainError) {
        let (kept, room) = try copied(password)
        try state.withLock { state throws(KeychainError) in
            try fill(context, in: &state) { held in
                (held.applicationPassword, held.passwordRoom, held.isPasswordTyped) = (kept, room, true)
            }
        }
    }

    /// Discards the application password that the user typed.
    ///
    /// - Returns: false if there is none: the app set one itself, or none was typed.
    func forgetTypedPassword(of context: ContextID) -> Bool {
        state.withLock { state in
            guard state.contexts[context.number]?.isPasswordTyped == true else { return false }
            state.contexts[context.number]?.forgetTypedPassword()
            return true
        }
    }

    /// Sets or removes the application password, whether the app set it or the user typed it.
    ///
    /// - Throws: ``KeychainError`` `errSecAllocate` if no locked memory is left for it.
    func setPassword(_ password: borrowing SecretBytes?, of number: UInt64) throws(KeychainError) {
        let kept: ApplicationPassword?
        let room: LockedMemoryBudget.Reservation?
        switch password {
        case .some(let password): (kept, room) = try copied(password)
        case .none: (kept, room) = (nil, nil)
        }
        try state.withLock { state throws(KeychainError) in
            try Self.check(number, in: state, ownAllowed: false)
            touch(number, in: &state) { held in
                (held.applicationPassword, held.passwordRoom, held.isPasswordTyped) = (kept, room, false)
            }
            if let held = state.contexts[number], held.isEmpty, held.isIdle { state.contexts[number] = nil }
        }
    }

    /// Copies a password into locked memory that is reserved for it.
    private func copied(
        _ password: borrowing SecretBytes
    ) throws(KeychainError) -> (ApplicationPassword, LockedMemoryBudget.Reservation) {
        guard password.count <= limits.longestPassword else { throw KeychainError(.param) }
        // Blocks of locked memory are powers of two.
        guard let room = budget.reserve(max(32, 2 * password.count)) else { throw KeychainError(.allocate) }
        return (ApplicationPassword(password.copy()), room)
    }

    /// Wipes a context and refuses its number from now on.
    ///
    /// - Returns: the requests that use it now.
    func invalidate(_ number: UInt64) -> Set<UInt64> {
        state.withLock { state in
            if state.invalidated.count >= Self.mostInvalidated,
                let oldest = state.invalidated.min(by: {
                    ContextLifetime.counter(of: $0) < ContextLifetime.counter(of: $1)
                })
            {
                state.invalidated.remove(oldest)
            }
            state.invalidated.insert(number)
            return state.contexts.removeValue(forKey: number)?.requests ?? []
        }
    }

    /// Discards all proofs and typed passwords, because the keybag was locked.
    func forgetProofs() {
        state.withLock { state in
            for number in state.contexts.keys {
                state.contexts[number]?.proofs = []
                state.contexts[number]?.forgetTypedPassword()
            }
        }
    }

    /// Discards everything, because the visit has ended.
    func removeAll() {
        state.withLock { $0 = State() }
    }

    /// The number of contexts in memory.
    var count: Int { state.withLock { $0.contexts.count } }

    private static func check(_ number: UInt64, in state: State, ownAllowed: Bool) throws(KeychainError) {
        guard ownAllowed || number < firstOwnNumber else { throw KeychainError(.param) }
        guard !state.invalidated.contains(number) else {
            throw KeychainError(AuthenticationError(.invalidContext))
        }
    }

    /// Changes a context that a request uses; throws if it was invalidated meanwhile.
    private func fill(
        _ context: ContextID,
        in state: inout State,
        _ change: (inout Context) -> Void
    ) throws(KeychainError) {
        try Self.check(context.number, in: state, ownAllowed: true)
        touch(context.number, in: &state) { held in
            if context.number >= Self.firstOwnNumber {
                held.requests.insert(context.number & ~Self.firstOwnNumber)
            }
            change(&held)
        }
    }

    private func touch(_ number: UInt64, in state: inout State, _ change: (inout Context) -> Void) {
        if state.contexts[number] == nil, state.contexts.count >= limits.contextsPerVisit {
            let oldest = state.contexts.filter { $0.value.isIdle }.min { $0.value.lastUse < $1.value.lastUse }
            if let oldest { state.contexts[oldest.key] = nil }
        }
        state.uses += 1
        state.contexts[number, default: Context()].lastUse = state.uses
        change(&state.contexts[number, default: Context()])
    }
}
