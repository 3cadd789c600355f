import Glibc
import KeychainModel

/// The polkit rule that lets fprintd verify this user where polkit refuses it, as over SSH.
enum PolkitRule {
    private static let file = "/etc/polkit-1/rules.d/50-touchstone.rules"
    private static let action = "net.reactivated.fprint.device.verify"

    /// What is known of the rule's file.
    private enum State {
        case absent
        /// Only root and polkit can read it: it may be there or not.
        case unreadable
        /// It names the action and the user.
        case inPlace
        /// It has another content.
        case other

        init(_ user: String?) {
            do throws(UnreadableFile) {
                let text = try SmallFile.text(file, atMost: 1 << 16)
                self =
                    user.map { text.contains("\"\($0)\"") && text.contains(action) } ?? false
                    ? .inPlace : .other
            } catch {
                self = error.isMissing || error.number == ENOTDIR ? .absent : .unreadable
            }
        }
    }

    /// The finding that polkit refuses the sensor, with the rule to add.
    static func finding(_ text: String) -> Finding {
        let name = Owner.ofThisProcess().name
        let remedy =
            switch State(name) {
            case .absent: "use a local session, or have root make \(file):\n\(rule(for: name))"
            case .unreadable:
                "use a local session; \(file) cannot be read by this user, so have root look whether it says this:\n"
                    + rule(for: name)
            case .other: "use a local session, or have root add this to \(file):\n\(rule(for: name))"
            case .inPlace:
                "\(file) allows it, and polkit has not taken it: as root, systemctl restart polkit, then journalctl -u polkit"
            }
        return .fail("sensor", text, "polkit refuses it here: \(remedy)")
    }

    private static func rule(for name: String?) -> String {
        // A name that the rule's quotes would not hold is left to its reader.
        let user = name.flatMap { !$0.isEmpty && ShellWord.escaped($0) == $0 ? $0 : nil } ?? "USER"
        return """
            polkit.addRule(function(action, subject) {
                if (subject.user == "\(user)" &&
                    action.id ==
                    "\(action)")
                    return polkit.Result.YES;
            });
            """
    }
}
