internal import FrequentWords

/// Which passwords are accepted (NIST SP 800-63B-4, section 3.1.1; ASVS 6.2): long enough, not among the most common
/// ones, not the username; without composition rules.
struct PasswordPolicy: Sendable {
    /// The minimum number of characters.
    let minimum: Int
    /// The maximum number of bytes read; a longer password only costs time.
    static let mostBytes = 512
    /// The maximum number of characters.
    static let maximum = 128

    /// Checks a new password.
    ///
    /// - Throws: ``Problem`` with `weak_password` and the reason.
    func check(_ password: String, username: String) throws(Problem) {
        guard password.count >= minimum else {
            throw Problem.weakPassword(.tooShort, "at least \(minimum) characters", limit: minimum)
        }
        guard password.count <= Self.maximum else {
            throw Problem.weakPassword(.tooLong, "at most \(Self.maximum) characters", limit: Self.maximum)
        }
        guard !FrequentWords.contains(password) else {
            throw Problem.weakPassword(.common, "it is among the passwords that are tried first")
        }
        guard !password.lowercased().contains(username) || username.count < 4 else {
            throw Problem.weakPassword(.hasUsername, "it contains the user's name")
        }
    }
}

/// A rule that a new password breaks, for pages that say it in words of their own.
enum PasswordRule: String, CaseIterable, Sendable {
    case tooShort = "too_short"
    case tooLong = "too_long"
    case common
    case hasUsername = "has_username"
    /// It is the one that has to be changed.
    case unchanged
}
