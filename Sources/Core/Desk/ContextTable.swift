import KeychainModel
import SecretMemory

/// What the contexts of one visit hold: proofs and application passwords; gone with the visit.
///
/// Contexts are numbered by the caller, which never uses a number again.
final class ContextTable: Sendable {
    /// Numbers from here on are ours: contexts of a single request.
    private static let firstOwnNumber: UInt64 = 1 << 63
    /// The most numbers of invalidated contexts that are kept; a forgotten one would be a new, empty context.
    private static let mostInvalidated = 1 << 16

    private struct Context {
        var proofs: [AuthenticationProof] = []
        var applicationPassword: ApplicationPassword?
        /// What the password took of the locked memory.
        var passwordRoom: LockedMemoryBudget.Reservation?
        /// Requests that work with it now.
        var requests: Set<UInt64> = []
        var lastUse: UInt64 = 0

        var isIdle: Bool { requests.isEmpty }
        var isEmpty: Bool { proofs.isEmpty && applicationPassword == nil }
    }

    private struct State {
        var contexts: [UInt64: Context] = [:]
        var invalidated: Set<UInt64> = []
        var uses: UInt64 = 0
    }

    private let visit: UInt64
    private let limits: DeskLimits
    private let budget: LockedMemoryBudget
    private let state = Guarded(State())

    /// Begins with no contexts; their passwords come out of `budget`.
    init(visit: UInt64, limits: DeskLimits, budget: LockedMemoryBudget) {
        self.visit = visit
        self.budget = budget
        self.limits = limits
    }

    /// Lets a request work with a context; without a number, with a fresh one of its own.
    ///
    /// - Throws: ``KeychainError`` `errSecAuthFailed` for a context that was invalidated.
    func enter(_ number: UInt64?, request: UInt64) throws(KeychainError) -> ContextID {
        let number = number ?? Self.firstOwnNumber | request
        try state.withLock { state throws(KeychainError) in
            try Self.check(number, in: state, ownAllowed: number == Self.firstOwnNumber | request)
            touch(number, in: &state) { $0.requests.insert(request) }
        }
        return ContextID(connection: visit, number: number)
    }

    /// The request is done with the context.
    func leave(_ context: ContextID, request: UInt64) {
        state.withLock { state in
            guard var held = state.contexts[context.number] else { return }
            held.requests.remove(request)
            let isOver = held.isIdle && (held.isEmpty || context.number >= Self.firstOwnNumber)
            state.contexts[context.number] = isOver ? nil : held
        }
    }

    /// What the context has to show.
    ///
    /// - Throws: ``KeychainError`` `errSecAuthFailed` for a context that was invalidated.
    func authorization(of context: ContextID) throws(KeychainError) -> ItemAuthorization {
        try state.withLock { state throws(KeychainError) in
            try Self.check(context.number, in: state, ownAllowed: true)
            guard let held = state.contexts[context.number] else { return ItemAuthorization() }
            return ItemAuthorization(proofs: held.proofs, applicationPassword: held.applicationPassword)
        }
    }

    /// Adds a proof, unless the context was invalidated meanwhile.
    func add(_ proof: AuthenticationProof, to context: ContextID) throws(KeychainError) {
        try state.withLock { state throws(KeychainError) in
            try Self.check(context.number, in: state, ownAllowed: true)
            touch(context.number, in: &state) { held in
                held.proofs.append(proof)
                held.proofs.removeFirst(max(0, held.proofs.count - limits.proofsPerContext))
            }
        }
    }

    /// Sets or removes the application password.
    ///
    /// - Throws: ``KeychainError`` `errSecAllocate` when there is no locked memory for one more.
    func setPassword(_ password: borrowing SecretBytes?, of number: UInt64) throws(KeychainError) {
        let (kept, room) = try keep(password)
        try state.withLock { state throws(KeychainError) in
            try Self.check(number, in: state, ownAllowed: false)
            touch(number, in: &state) { held in
                held.applicationPassword = kept
                held.passwordRoom = room
            }
            if let held = state.contexts[number], held.isEmpty, held.isIdle { state.contexts[number] = nil }
        }
    }

    private func keep(
        _ password: borrowing SecretBytes?
    ) throws(KeychainError) -> (ApplicationPassword?, LockedMemoryBudget.Reservation?) {
        switch password {
        case .none: return (nil, nil)
        case .some(let password):
            guard password.count <= limits.longestPassword else { throw KeychainError(.param) }
            // Blocks of locked memory are powers of two.
            guard let room = budget.reserve(max(32, 2 * password.count)) else {
                throw KeychainError(.allocate)
            }
            return (ApplicationPassword(password.copy()), room)
        }
    }

    /// Wipes a context and refuses it from now on.
    ///
    /// - Returns: the requests that work with it now.
    func invalidate(_ number: UInt64) -> Set<UInt64> {
        state.withLock { state in
            if state.invalidated.count >= Self.mostInvalidated, let oldest = state.invalidated.min() {
                state.invalidated.remove(oldest)
            }
            state.invalidated.insert(number)
            return state.contexts.removeValue(forKey: number)?.requests ?? []
        }
    }

    /// Forgets every proof: the keybag was locked.
    func forgetProofs() {
        state.withLock { state in
            for number in state.contexts.keys { state.contexts[number]?.proofs = [] }
        }
    }

    /// Forgets everything: the visit has ended.
    func removeAll() {
        state.withLock { $0 = State() }
    }

    /// How many contexts hold something.
    var count: Int { state.withLock { $0.contexts.count } }

    private static func check(_ number: UInt64, in state: State, ownAllowed: Bool) throws(KeychainError) {
        guard ownAllowed || number < firstOwnNumber else { throw KeychainError(.param) }
        guard !state.invalidated.contains(number) else {
            throw KeychainError(AuthenticationError(.invalidContext))
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
