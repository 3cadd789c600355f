import CLinux
import Glibc
import KeychainClient
import KeychainModel
import PinentryDriver
import SecretMemory
import Threads

/// Registers with the daemon and draws one prompt after the other, until the agent is no longer needed.
final class AgentService: Sendable {
    private struct State {
        /// Whether no further prompt is wanted.
        var isLeaving = false
        /// Cancels the wait for the next prompt.
        var waiting: Cancellation?
        /// The prompt shown now.
        var box: DrawnBox?
    }

    /// The pause between attempts to reach a daemon that has exited, in milliseconds.
    private static let pause: CInt = 1000

    private let place: AgentPlace
    private let environment: AgentEnvironment
    private let signals: AgentSignals
    private let state = Guarded(State())

    init(place: AgentPlace, environment: AgentEnvironment, signals: AgentSignals) {
        self.place = place
        self.environment = environment
        self.signals = signals
    }

    /// Serves until it is told to end or, on a terminal, until the daemon has exited.
    func run() throws(AgentFailure) {
        guard BlockingThread.start({ [self] in listen() }) == 0 else {
            throw AgentFailure(
                message: "no thread can be started",
                hint: "raise the limit on processes (ulimit -u)"
            )
        }
        var wasServed = false
        while true {
            do throws(KeychainError) {
                try serve(&wasServed)
                return
            } catch {
                if isLeaving { return }
                // A terminal's agent is started for one program, which uses the same daemon. The agent of a desktop
                // session keeps running across daemon restarts.
                guard !place.isTerminal, wasServed, error.isOfLostDaemon else { throw AgentFailure(error) }
                _ = poll(nil, 0, Self.pause)
                if isLeaving { return }
            }
        }
    }

    private func serve(_ wasServed: inout Bool) throws(KeychainError) {
        let keychain = RemoteKeychain(layout: environment.layout, daemon: .none)
        let registration = AgentRegistration(place.registered, version: ProductVersion.text)
        let admission = try keychain.registerAgent(registration)
        if !wasServed { AgentSignals.tellReady() }
        wasServed = true
        let prompter = PinentryPrompter(
            program: Self.program(admission),
            user: ProcessUser.uid,
            environment: environment.session,
            drawsTouches: true
        )
        while true {
            let cancellation = Cancellation()
            let isLeaving = state.withLock { state in
                state.waiting = cancellation
                return state.isLeaving
            }
            if isLeaving { return }
            let box = try keychain.nextBox(cancellation: cancellation)
            let drawn = DrawnBox(box.number, keychain)
            state.withLock { ($0.waiting, $0.box) = (nil, drawn) }
            let answer = drawn.draw(box, at: place.origin(of: box), by: prompter)
            state.withLock { $0.box = nil }
            do throws(KeychainError) {
                try keychain.boxIsAnswered(answer)
            } catch {
                // The daemon may have withdrawn the prompt meanwhile.
                guard error.status == .param else { throw error }
            }
        }
    }

    /// The pinentry program that the daemon chose, which must be owned by root unless both are built for tests.
    private static func program(_ admission: AgentAdmission) -> PinentryProgram {
        guard let path = admission.pinentryProgram else { return PinentryProgram() }
        return admission.isForTests && !clinux_is_secure() ? .testing(path) : PinentryProgram([path])
    }

    private var isLeaving: Bool { state.withLock { $0.isLeaving } }

    /// Waits for the events that end the agent, on a dedicated thread.
    private func listen() {
        while true {
            let event = signals.next()
            let (waiting, box, isIdle) = state.withLock { state in
                let isIdle = state.box == nil
                if event != .interrupted || isIdle { state.isLeaving = true }
                return (state.waiting, event == .ended ? state.box : nil, isIdle)
            }
            if event != .interrupted || isIdle { waiting?.cancel() }
            box?.takeAway()
            // The lifeline reports its end only once.
            if event == .notNeeded { return waitForEnd() }
        }
    }

    /// The lifeline ends only once; a signal may still follow.
    private func waitForEnd() {
        while signals.next(withLifeline: false) != .ended {}
        state.withLock { $0.box }?.takeAway()
    }
}

extension KeychainError {
    /// Whether the daemon cannot be reached, or has exited, or ends and cancels what waits.
    fileprivate var isOfLostDaemon: Bool {
        status == .internalComponent || status == .notAvailable || status == .badReq
            || authentication?.code == .systemCancel
    }
}

extension AgentFailure {
    /// Why the daemon cannot be served.
    fileprivate init(_ error: KeychainError) {
        let cause = error.cause.map { "\($0.domain): \($0.code)" } ?? "status \(error.status.rawValue)"
        switch error.status {
        case .missingEntitlement:
            self.init(
                message: "the daemon does not take this program for its agent (\(cause))",
                hint:
                    "its file must be root's with the group touchstone-agent and mode 2755, on a file system without nosuid",
                isRefusal: true
            )
        case .duplicateItem:
            self.init(message: "another agent draws here already", hint: "end that one first")
        default:
            self.init(
                message: "the daemon cannot be served (\(cause))",
                hint: "systemctl status touchstoned@\(ProcessUser.uid)"
            )
        }
    }
}
