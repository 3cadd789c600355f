import KeychainClient
import KeychainModel
import MessageBus
import PeerSockets
import SecretMemory
import SecretServiceModel
import SystemFacts
import Threads

/// One connection on the bus: its sessions, prompts and grants, and its calls, one after the other.
///
/// It has a connection of its own to the daemon, which names its program in every box and log line.
final class SecretsClient: Sendable {
    /// A method call.
    struct Call: Sendable {
        /// The number under which the reply is posted.
        let number: UInt64
        let path: String
        /// The interface; nil if the client left it out.
        let interface: String?
        let member: String
        let arguments: [BusValue]
    }

    /// A locked item that stands for the result of a search, before the keychain can be searched.
    struct Promise: Sendable {
        let attributes: [String: String]
        /// The collection that was searched; nil for all.
        let collection: String?
    }

    private struct State {
        var calls: [Call] = []
        var isRunning = false
        var isGone = false
        var sessions: [String: TransferSession] = [:]
        var prompts: [String: SecretPrompt] = [:]
        /// Cancels the gesture for which a read waits.
        var waiting: Cancellation?
        /// Cancels the requests of sandboxed programs, by the paths by which the portal closes them.
        var portal: [String: Cancellation] = [:]
        /// The names of the program and of those that started it, once they were needed.
        var programs: Set<String>?
        var promises: [String: Promise] = [:]
        /// The names of the promises, the oldest first.
        var promised: [String] = []
    }

    static let mostSessions = 64
    static let mostPrompts = 32
    static let mostCalls = 1024
    static let mostPromises = 256

    /// The unique name.
    let name: String
    let shared: SecretsShared
    let store: SecretStore
    private let program: RepresentedProgram
    private let state = Guarded(State())
    /// Wakes the client's thread.
    private let wake = ThreadWake()
    /// How long the client's thread waits for the next call, in milliseconds: starting one for each call takes a tenth of a look-up.
    private static let patience: CInt = 1000

    /// A client; its connection to the daemon is made with its first call that needs one.
    init(_ name: String, _ program: RepresentedProgram, of keychain: RemoteKeychain, shared: SecretsShared) {
        self.name = name
        self.program = program
        self.shared = shared
        store = SecretStore(keychain: keychain.representing(program), index: shared.index)
    }

    var keychain: RemoteKeychain { store.keychain }

    // MARK: Calls

    /// Answers a call, after those before it, on a thread that may block; one of the portal beside them.
    func enqueue(_ call: Call) {
        guard !Self.isPortal(call) else { return startPortal(call) }
        let (isRefused, mustStart) = state.withLock { state in
            guard !state.isGone, state.calls.count < Self.mostCalls else { return (true, false) }
            state.calls.append(call)
            defer { state.isRunning = true }
            return (false, !state.isRunning)
        }
        if isRefused { shared.post(.reply(call.number, .failure(.limit("too many calls are waiting")))) }
        if !isRefused, !mustStart { wake.raise() }
        guard mustStart, BlockingThread.start({ [self] in answerAll() }) != 0 else { return }
        let unanswered = state.withLock { state in
            defer { (state.calls, state.isRunning) = ([], false) }
            return state.calls
        }
        for call in unanswered {
            shared.post(.reply(call.number, .failure(.limit("no thread is left"))))
        }
    }

    private func answerAll() {
        while true {
            let next: Call? = state.withLock { state in
                state.isGone || state.calls.isEmpty ? nil : state.calls.removeFirst()
            }
            if let next {
                reply(to: next) { () throws(BusFault) in try answer(next) }
            } else if !waitForCall() {
                return
            }
        }
    }

    /// Waits a moment for the next call.
    ///
    /// - Returns: false if there is none, and the thread is to end.
    private func waitForCall() -> Bool {
        let isWoken = wake.wait(atMost: Self.patience)
        if isWoken { wake.lower() }
        return state.withLock { state in
            // What woke it may have been answered already.
            guard !state.isGone, isWoken || !state.calls.isEmpty else {
                state.isRunning = false
                return false
            }
            return true
        }
    }

    private func startPortal(_ call: Call) {
        let failure = BlockingThread.start { [self] in
            reply(to: call) { () throws(BusFault) in try answerPortal(call) }
        }
        if failure != 0 { shared.post(.reply(call.number, .failure(.limit("no thread is left")))) }
    }

    private func reply(to call: Call, _ body: () throws(BusFault) -> [BusValue]) {
        let result: Result<[BusValue], BusFault>
        do throws(BusFault) {
            result = .success(try body())
        } catch {
            result = .failure(error)
            shared.refusals.note(error, of: call.member, by: program.process)
        }
        shared.post(.reply(call.number, result))
        shared.memory.noteUse()
    }

    /// Ends everything because the client has left the bus.
    func end() {
        let (prompts, waiting) = state.withLock { state -> ([SecretPrompt], [Cancellation]) in
            defer {
                state = State()
                state.isGone = true
            }
            return (Array(state.prompts.values), [state.waiting].compactMap(\.self) + state.portal.values)
        }
        for prompt in prompts { prompt.abandon() }
        for cancellation in waiting { cancellation.cancel() }
        wake.raise()
        shared.grants.forget(name)
    }

    // MARK: Sessions

    /// Adds a session; returns its path.
    func add(_ session: TransferSession) throws(BusFault) -> String {
        let path = SecretObject.session(Hexadecimal.text(RandomBytes.array(count: 16))).path
        try state.withLock { state throws(BusFault) in
            guard state.sessions.count < Self.mostSessions else {
                throw .limit("a client has at most \(Self.mostSessions) sessions")
            }
            state.sessions[path] = session
        }
        return path
    }

    /// The session of a path, if it is this client's.
    func session(_ path: String) throws(BusFault) -> TransferSession {
        guard let session = state.withLock({ $0.sessions[path] }) else { throw .noSession }
        return session
    }

    /// Closes a session.
    func close(session path: String) throws(BusFault) {
        guard state.withLock({ $0.sessions.removeValue(forKey: path) }) != nil else { throw .noSession }
    }

    // MARK: Prompts

    /// Makes a prompt; returns its path.
    func makePrompt(
        nothing: BusValue,
        _ perform: @escaping @Sendable (Cancellation) throws(BusFault) -> BusValue
    ) throws(BusFault) -> String {
        let prompt = SecretPrompt(
            owner: name,
            shared: shared,
            nothing: nothing,
            perform: perform,
            onEnd: { [weak self] path in _ = self?.state.withLock { $0.prompts.removeValue(forKey: path) } }
        )
        try state.withLock { state throws(BusFault) in
            guard state.prompts.count < Self.mostPrompts else {
                throw .limit("a client has at most \(Self.mostPrompts) prompts")
            }
            state.prompts[prompt.path] = prompt
        }
        return prompt.path
    }

    /// The prompt of a path, if it is this client's.
    func prompt(_ path: String) throws(BusFault) -> SecretPrompt {
        guard let prompt = state.withLock({ $0.prompts[path] }) else { throw .unknownObject(path) }
        return prompt
    }

    /// What a box says, and where it is shown: on the program's terminal, if it is in the foreground there, else on its display or the
    /// door's.
    func fields(_ reason: String, _ lines: [String] = []) -> PromptFields {
        let isThere = ProcessStat(of: program.process)?.start == program.start
        let place = isThere ? ClientPlace(of: program.process, terminal: nil) : nil
        var origin = place?.origin ?? PromptOrigin()
        if origin.display == nil, origin.waylandDisplay == nil {
            origin.display = shared.place.display
            origin.waylandDisplay = shared.place.waylandDisplay
            origin.xAuthority = shared.place.xAuthority
        }
        origin.characterType = origin.characterType ?? shared.place.characterType
        origin.language = origin.language ?? shared.place.language
        return PromptFields(origin: origin, reason: reason, details: PromptDetails(items: lines))
    }

    // MARK: Gestures

    /// The context in which this client may read an item now; nil without a gesture for it.
    func grant(for item: PersistentReference) -> UInt64? {
        shared.grants.context(for: item, of: name, shared.index.locks)
    }

    /// Lets this client read items for a while.
    func allow(_ items: [SecretItem], in context: UInt64, lasting window: Duration?) {
        guard state.withLock({ !$0.isGone }) else { return }
        shared.grants.add(
            items.map { ($0.reference, $0.content.label) },
            of: name,
            process: program.process,
            context: context,
            lasting: window,
            shared.index.locks,
            keychain
        )
        // It may have gone meanwhile.
        if state.withLock(\.isGone) { shared.grants.forget(name) }
    }

    /// Ends the gestures for an item.
    func forbid(_ item: PersistentReference) {
        shared.grants.end { [name] client, grant in client == name && grant.item == item }
    }

    /// Runs `body` with what cancels it: the client's end, or the time.
    func waiting<R>(
        atMost time: Duration,
        _ body: (Cancellation) throws(BusFault) -> R
    ) throws(BusFault) -> R {
        let cancellation = Cancellation()
        let isGone = state.withLock { state in
            if !state.isGone { state.waiting = cancellation }
            return state.isGone
        }
        guard !isGone else { throw .isLocked }
        let timer = Task {
            if (try? await Task.sleep(for: time)) != nil { cancellation.cancel() }
        }
        defer {
            timer.cancel()
            state.withLock { $0.waiting = nil }
        }
        return try body(cancellation)
    }

    /// Runs `body` with what the portal cancels by closing this path.
    func closing<R>(_ path: String, _ body: (Cancellation) throws(BusFault) -> R) throws(BusFault) -> R {
        let cancellation = Cancellation()
        try state.withLock { state throws(BusFault) in
            guard !state.isGone, state.portal.count < Self.mostPrompts, state.portal[path] == nil else {
                throw .limit("at most \(Self.mostPrompts) requests wait, each with a path of its own")
            }
            state.portal[path] = cancellation
        }
        defer { _ = state.withLock { $0.portal.removeValue(forKey: path) } }
        return try body(cancellation)
    }

    /// Cancels the request of a path; false if there is none.
    func closePortal(_ path: String) -> Bool {
        guard let cancellation = state.withLock({ $0.portal[path] }) else { return false }
        cancellation.cancel()
        return true
    }

    /// Whether this program or one that started it, as the kernel knows them at the first question, has one of these names.
    func isStarted(by names: [String]) -> Bool {
        if let known = state.withLock(\.programs) { return !known.isDisjoint(with: names) }
        let found = ProcessStarters.names(of: program.process, startedAt: program.start)
        state.withLock { $0.programs = found }
        return !found.isDisjoint(with: names)
    }

    // MARK: Promises

    /// A path for the item that a search will find once the keychain is unlocked.
    func promise(_ attributes: [String: String], in collection: String?) -> String {
        let name = "locked_" + Hexadecimal.text(RandomBytes.array(count: 16))
        state.withLock { state in
            if state.promised.count >= Self.mostPromises {
                state.promises[state.promised.removeFirst()] = nil
            }
            state.promised.append(name)
            state.promises[name] = Promise(attributes: attributes, collection: collection)
        }
        return SecretObject.item(collection: collection ?? SecretNames.defaultCollection, name: name).path
    }

    /// The search behind the name of a promised item; nil for another item.
    func promise(_ name: String) -> Promise? { state.withLock { $0.promises[name] } }
}
