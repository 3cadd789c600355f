import Glibc
import KeychainClient
import KeychainModel
import PinentryDriver

/// Where the agent draws, as registered with the daemon and as passed to pinentry.
struct AgentPlace: Sendable {
    /// The place as registered with the daemon.
    let registered: AgentRegistration.Place
    private let xAuthority: String?

    /// The controlling terminal, as the kernel names it, and the leader of its session.
    ///
    /// Variables, arguments and descriptors do not influence it: a prompt that another program requests must not appear on
    /// a terminal that the caller lent to the agent.
    static func terminal() throws(AgentFailure) -> AgentPlace {
        guard let stat = ProcessStat(of: getpid()), stat.terminal != 0,
            let path = PromptOrigin.controllingTerminal(), session(of: path) == stat.session,
            let leader = ProcessStat(of: stat.session)
        else {
            throw AgentFailure(
                message: "there is no controlling terminal",
                hint: "run it from a terminal, or with --graphical in a desktop session"
            )
        }
        return AgentPlace(
            registered: .terminal(
                path: path,
                session: stat.session,
                start: leader.start,
                login: login
            ),
            xAuthority: nil
        )
    }

    private static var login: UInt32? { KernelLogin.number(of: getpid(), user: ProcessUser.uid) }

    /// The display of the environment.
    static func graphical(_ environment: AgentEnvironment) throws(AgentFailure) -> AgentPlace {
        let (display, waylandDisplay) = (environment.display, environment.waylandDisplay)
        let isWellFormed = [display, waylandDisplay].allSatisfy {
            ($0?.utf8.count ?? 0) <= AgentRegistration.longestName
        }
        guard isWellFormed, display != nil || waylandDisplay != nil else {
            throw AgentFailure(
                message: "there is no display: neither DISPLAY nor WAYLAND_DISPLAY is set",
                hint: "start it in a desktop session, or with --terminal"
            )
        }
        return AgentPlace(
            registered: .graphical(display: display, waylandDisplay: waylandDisplay, login: login),
            xAuthority: environment.session.xAuthority
        )
    }

    /// The place of the prompt; the request determines only its terminal type, character encoding and language.
    func origin(of box: borrowing AgentBox) -> PromptOrigin {
        switch registered {
        case .terminal(let path, _, _, _):
            PromptOrigin(
                terminal: path,
                terminalType: box.terminalType,
                characterType: box.characterType,
                language: box.language,
                client: box.client.map(Self.started)
            )
        case .graphical(let display, let waylandDisplay, _):
            PromptOrigin(
                display: display,
                waylandDisplay: waylandDisplay,
                xAuthority: xAuthority,
                characterType: box.characterType,
                language: box.language
            )
        }
    }

    /// Whether the agent draws on the controlling terminal.
    var isTerminal: Bool {
        if case .terminal = registered { true } else { false }
    }

    /// Adds the client's start time, which a daemon whose sandbox hides other users' processes cannot read.
    ///
    /// It only identifies the process that reads from the terminal; the request of an exited client ends with the
    /// client.
    private static func started(_ client: PromptClient) -> PromptClient {
        guard client.start == 0, let stat = ProcessStat(of: client.process) else { return client }
        return PromptClient(process: client.process, start: stat.start)
    }

    /// The session of the terminal at a path; nil unless it is this process's controlling terminal.
    ///
    /// A device number does not tell: a terminal of another devpts instance has the same.
    private static func session(of path: String) -> Int32? {
        let terminal = unsafe open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC)
        guard terminal >= 0 else { return nil }
        defer { close(terminal) }
        let session = tcgetsid(terminal)
        return session > 0 ? session : nil
    }
}
