import Glibc
import KeychainClient
import KeychainModel

/// Why no prompt can be shown where this command runs, as far as the command itself can tell.
///
/// Whether a display works, only the program that draws on it knows.
enum PlaceFault: Equatable {
    /// Neither a terminal nor a display.
    case noPlace
    /// The terminal belongs to another user, as after `su -`: prompts are drawn on terminals of the keychain's owner
    /// alone, because whoever owns a terminal can read what is typed on it.
    case foreign(terminal: String, owner: String)

    /// The fault of this command's place; nil if a prompt can be tried there.
    static func current() -> PlaceFault? { PlaceFault(of: .current()) }

    /// The fault of a place; nil if a prompt can be tried there.
    init?(of origin: PromptOrigin) {
        guard origin.display == nil, origin.waylandDisplay == nil else { return nil }
        guard let terminal = origin.terminal else {
            self = .noPlace
            return
        }
        var status = stat()
        guard unsafe stat(terminal, &status) == 0, status.st_uid != ProcessUser.uid else { return nil }
        let owner = Owner.name(of: status.st_uid) ?? "user \(status.st_uid)"
        self = .foreign(terminal: terminal, owner: owner)
    }

    /// One clause.
    var text: String {
        switch self {
        case .noPlace: "there is no terminal and no display"
        case .foreign(let terminal, let owner): "the terminal \(terminal) belongs to \(owner), not to you"
        }
    }

    /// How to get a place for prompts: each of these ways makes a terminal that belongs to the user.
    var remedy: String {
        switch self {
        case .noPlace: "run it from a terminal or a desktop session"
        case .foreign:
            "start a terminal of your own here with script -q /dev/null or tmux, or log in with "
                + "sudo -iu \(Self.user), su --pty - \(Self.user) or ssh"
        }
    }

    /// The remedy, or a way without a prompt here.
    var remedyOrUnlock: String { "\(remedy), or unlock beforehand in another place: touchstone unlock" }

    /// The fault for programs, in the form of the daemon's own.
    var code: String { "\(PromptError.Code.notInteractive.rawValue): \(text)" }

    private static var user: String { Owner.ofThisProcess().name.map(ShellWord.escaped) ?? "USER" }
}
