import KeychainModel
import SystemMigration

/// Judges system mode: where the keychain is, and the parts of the mode.
enum SystemModeChecks {
    private static let part = "system mode"

    /// The findings of `doctor` for this user; one line for a keychain in per-user mode.
    static func findingsForDoctor() -> [Finding] {
        guard ProcessUser.uid != 0 else { return [.ok(part, "off: root's own keychain is never moved")] }
        do throws(CommandError) {
            let moved = try MovedUser(named: nil, directory: nil)
            let move = KeychainMove(moved.places)
            let standing = try EnableSystemCommand.told { () throws(MoveError) in try move.standing() }
            return standing == .perUser ? [finding(of: standing, moved)] : findings(of: moved, standing)
        } catch {
            return [.warn(part, "cannot be told: \(error.message)", error.hint ?? "touchstone system status")]
        }
    }

    /// All findings.
    static func findings(of moved: MovedUser, _ standing: MoveStanding) -> [Finding] {
        [finding(of: standing, moved)]
            + SystemParts().findings(of: moved.user.uid).map { found in
                switch found.verdict {
                case .well: .ok(found.part, found.text)
                case .lacking: .warn(found.part, found.text, found.remedy ?? "")
                // Outside system mode a missing part is only a warning.
                case .wrong where !standing.isSystem: .warn(found.part, found.text, found.remedy ?? "")
                case .wrong: .fail(found.part, found.text, found.remedy ?? "")
                }
            }
    }

    private static func finding(of standing: MoveStanding, _ moved: MovedUser) -> Finding {
        let (own, kept) = (moved.places.userDirectory, moved.places.keptDirectory)
        return switch standing {
        case .perUser: .ok(part, "off: the keychain is this user's own")
        case .begun:
            .warn(
                part,
                "off: the keychain is this user's own, and a copy of it in system mode is incomplete",
                "sudo touchstone system enable goes on, sudo touchstone system disable removes the copy"
            )
        case .bypassed:
            .fail(
                part,
                "programs find an empty keychain in \(kept), and this user's own is in \(own)",
                "sudo touchstone system enable moves it there, sudo touchstone system disable turns that off"
            )
        case .system: .ok(part, "on: the keychain is in \(kept)")
        case .systemUnchecked:
            .warn(
                part,
                "on, and the former keychain is still in \(own) until it is checked",
                "touchstone unlock; sudo touchstone system enable"
            )
        case .returned:
            .warn(
                part,
                "off, and the keychain of system mode is kept until this user's own is checked",
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
            .fail(
                part,
                "\(kept) is in use, but \(own) has another keychain",
                // Only root can see the account's directory, which may be empty.
                (ProcessUser.uid == 0 ? "" : "sudo touchstone system status first; then ")
                    + "move the one in \(own) elsewhere, all but the file 'moved'"
            )
        case .lost:
            .fail(
                part,
                "the keychain was moved to \(kept), but is missing there",
                "bring a backup of that directory back; to begin anew without it, remove \(own)/moved"
            )
        }
    }
}
