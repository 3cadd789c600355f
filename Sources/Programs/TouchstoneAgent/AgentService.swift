import CLinux
import Glibc
import KeychainClient
import KeychainModel
import PinentryDriver
import SecretMemory
import Threads

/// Registers with the daemon and draws one box after the other, until nobody needs it.
final class AgentService: Sendable {
    private struct State {
        /// No further box is wanted.
        var isLeaving = false
        /// Ends the wait for the next box.
        var waiting: Cancellation?
        /// The box that is up.
        var box: DrawnBox?
    }

    /// Between two looks for a daemon that went, in milliseconds.
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

    /// Serves until it is told to end, or, on a terminal, until the daemon is gone.
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
                // A terminal's agent is started for one program, which meets the same daemon. That of a desktop session
                // stays, whatever the daemon does.
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
                // The daemon may have given the box up in the meantime.
                guard error.status == .param else { throw error }
            }
        }
    }

    /// What draws: the daemon's choice, which must be root's program, unless both are of tests.
    private static func program(_ admission: AgentAdmission) -> PinentryProgram {
        guard let path = admission.pinentryProgram else { return PinentryProgram() }
        return admission.isForTests && !clinux_is_secure() ? .testing(path) : PinentryProgram([path])
    }

    private var isLeaving: Bool { state.withLock { $0.isLeaving } }

    /// Waits for what ends the agent, on a thread of its own.
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
            // It said what there is to say.
            if event == .notNeeded { return waitForEnd() }
        }
    }

    /// The end of the lifeline comes once; a signal may still follow.
    private func waitForEnd() {
        while signals.next(withLifeline: false) != .ended {}
        state.withLock { $0.box }?.takeAway()
    }
}

extension KeychainError {
    /// Whether there is no daemon, or none any more.
    fileprivate var isOfLostDaemon: Bool {
        status == .internalComponent || status == .notAvailable || status == .badReq
    }
}

extension AgentFailure {
    /// Why the daemon is not served.
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
