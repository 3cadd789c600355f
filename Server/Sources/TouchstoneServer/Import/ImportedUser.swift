internal import AccountStore
internal import Foundation
internal import ImportedPasswords
internal import WebAuthnModel

/// A user as a line of an import describes it.
struct ImportedUser: Sendable {
    /// The name as it is written.
    let typedName: String
    let displayName: String?
    /// The hash; nil: the account has no password.
    let password: ImportedPassword?
    let mustChange: Bool
    /// The name in the form in which it is stored.
    let username: String

    private static let members: Set = ["username", "displayName", "passwordHash", "mustChangePassword"]

    /// Reads a line: a JSON object.
    ///
    /// - Throws: ``Problem`` with `invalid_request`, whose texts have nothing secret of the line.
    init(line: [UInt8]) throws(Problem) {
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue(parsing: line) } catch {
            throw Problem(.invalidRequest, "\(error)")
        }
        guard let object = value.object else { throw Problem(.invalidRequest, "the line is no JSON object") }
        // A misspelt member would make an account without a password.
        for member in object.members where !Self.members.contains(member.name) {
            throw .invalidMember(
                String(member.name.prefix(64)),
                "is none of \(Self.members.sorted().joined(separator: ", "))"
            )
        }
        var reader = MemberReader(object)
        typedName = reader.string("username", bytes: 1...1024)
        displayName = reader.optionalLabel("displayName")
        let hash = reader.optionalString("passwordHash", bytes: 1...512)
        mustChange = reader.optionalBool("mustChangePassword") ?? false
        try reader.finish()
        username = try UserRoutes.prepared(typedName)
        guard let hash else {
            guard !mustChange else { throw .invalidMember("mustChangePassword", "needs a passwordHash") }
            password = nil
            return
        }
        do throws(ImportedPassword.Refusal) { password = try ImportedPassword(hash) } catch {
            throw .invalidMember("passwordHash", error.description)
        }
    }

    /// Its new account.
    func account(now: Timestamp) -> Account {
        Account(
            id: .random(byteCount: 32),
            username: username,
            displayName: displayName ?? typedName,
            createdAt: now,
            password: password.map { PasswordRecord(hash: $0.text, changedAt: now, mustChange: mustChange) }
        )
    }
}
