import KeychainModel
import SystemMigration

/// Judges system mode: where the keychain stands, and what the mode is made of.
enum SystemModeChecks {
    private static let part = "system mode"

    /// What `doctor` says about this user; one line where the keychain is the user's own.
    static func findingsForDoctor() -> [Finding] {
        guard ProcessUser.uid != 0 else { return [.ok(part, "off: root's own keychain is never moved")] }
        guard let moved = try? MovedUser(named: nil, directory: nil),
            let standing = try? KeychainMove(moved.places).standing()
        else { return [.ok(part, "off: the keychain is this user's own")] }
        return standing == .perUser ? [finding(of: standing, moved)] : findings(of: moved, standing)
    }

    /// All findings.
    static func findings(of moved: MovedUser, _ standing: MoveStanding) -> [Finding] {
        [finding(of: standing, moved)]
            + SystemParts().findings(of: moved.user.uid).map { found in
                switch found.verdict {
                case .well: .ok(found.part, found.text)
                case .lacking: .warn(found.part, found.text, found.remedy ?? "")
                // Without system mode nothing is in the way yet.
                case .wrong where !standing.isSystem: .warn(found.part, found.text, found.remedy ?? "")
                case .wrong: .fail(found.part, found.text, found.remedy ?? "")
                }
            }
    }

    private static func finding(of standing: MoveStanding, _ moved: MovedUser) -> Finding {
        let (own, kept) = (moved.places.userDirectory, moved.places.keptDirectory)
        return switch standing {
        case .perUser: .ok(part, "off: the keychain is this user's own")
        case .system: .ok(part, "on: the keychain is in \(kept)")
        case .systemUnchecked:
            .warn(
                part,
                "on, and the former keychain is still in \(own)",
                "touchstone unlock; sudo touchstone system enable"
            )
        case .returned:
            .warn(
                part,
                "off, and the former keychain is still kept",
                "touchstone unlock; sudo touchstone system disable"
            )
        case .enabling:
            .fail(
                part,
                "the move to \(kept) was cut short",
                "sudo touchstone system enable finishes it, sudo touchstone system disable undoes it"
            )
        case .disabling:
            .fail(
                part,
                "the move back to \(own) was cut short",
                "sudo touchstone system disable finishes it, sudo touchstone system enable undoes it"
            )
        case .twofold:
            .fail(part, "\(kept) counts, and \(own) has another keychain", "move the one in \(own) elsewhere")
        case .lost:
            .fail(
                part,
                "the keychain went to \(kept), and is not there",
                "bring a backup of that directory back"
            )
        }
    }
}
