internal import FrequentWords

/// Which passwords may be chosen (NIST SP 800-63B-4, section 3.1.1; ASVS 6.2): long enough, not among those that are tried
/// first, not the user's name; no rules of composition.
struct PasswordPolicy: Sendable {
    /// Characters, at least.
    let minimum: Int
    /// Bytes that are read at most; a longer one only costs time.
    static let mostBytes = 512
    /// Characters, at most.
    static let maximum = 128

    /// Accepts a password.
    ///
    /// - Throws: ``Problem`` with `weak_password` and what is wrong.
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
