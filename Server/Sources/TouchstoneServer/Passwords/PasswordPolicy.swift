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
            throw Problem(.weakPassword, "at least \(minimum) characters")
        }
        guard password.count <= Self.maximum else {
            throw Problem(.weakPassword, "at most \(Self.maximum) characters")
        }
        guard !FrequentWords.contains(password) else {
            throw Problem(.weakPassword, "it is among the passwords that are tried first")
        }
        guard !password.lowercased().contains(username) || username.count < 4 else {
            throw Problem(.weakPassword, "it contains the user's name")
        }
    }
}
