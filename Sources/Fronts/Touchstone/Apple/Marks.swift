internal import Foundation
internal import Security

/// Records that a secret was stored: an item without access control beside each secret that asks the user.
///
/// When the enrolled fingers change, Apple's systems delete the secrets bound to them without a trace. A mark in state `stored`
/// without its secret therefore means an invalidated secret; its date is when that was first noticed.
struct Mark {
    /// The prefix of every mark's service.
    static let prefix = "touchstone.mark:"

    enum State: Equatable {
        /// Has no meaning yet: the secret is being added or deleted.
        case pending
        case stored
        /// The secret was found missing, first at this date.
        case lost(Date)

        var bytes: [UInt8] {
            switch self {
            case .pending: Array("pending".utf8)
            case .stored: Array("stored".utf8)
            case .lost(let date): Array("lost \(Int64(date.timeIntervalSince1970 * 1e6))".utf8)
            }
        }

        init(_ bytes: Data?) {
            let words = String(decoding: bytes ?? Data(), as: UTF8.self).split(separator: " ")
            switch (words.first, words.dropFirst().first.flatMap { Int64($0) }) {
            case ("stored", _): self = .stored
            case ("lost", let time?): self = .lost(Date(timeIntervalSince1970: Double(time) / 1e6))
            default: self = .pending
            }
        }
    }

    /// The query for the mark; without an account, for the marks of all secrets of the service.
    let query: PasswordQuery
    private let secret: PasswordQuery

    init(_ secret: PasswordQuery) {
        self.secret = secret
        query = PasswordQuery(
            service: Self.prefix + secret.service,
            account: secret.account,
            group: secret.group,
            // The rule, so that a look-up under another rule does not match.
            comment: secret.comment
        )
    }

    /// Sets the state of all marks that match, or creates the mark.
    func set(_ state: State, _ calls: KeychainCalls) throws(TouchstoneError) {
        var attributes = query
        attributes.generic = state.bytes
        do throws(TouchstoneError) {
            try calls.rename(query, to: attributes)
        } catch {
            guard error.code == .notFound, query.account != nil else { throw error }
            _ = try calls.addAlone(NewPassword(attributes: attributes, rule: nil, bytes: nil))
        }
    }

    /// Whether a matching secret was ever stored completely.
    func hasStored(_ calls: KeychainCalls) throws(TouchstoneError) -> Bool {
        try calls.attributes(query).contains { State($0[kSecAttrGeneric as String] as? Data) != .pending }
    }

    /// Whether the secret was stored and no version of it exists now.
    func isOfLost(_ calls: KeychainCalls) throws(TouchstoneError) -> Bool {
        var any = secret
        any.generic = nil
        return try !Self.lost(any, beside: try calls.accounts(any), calls).isEmpty
    }

    /// The secrets that were stored and do not exist now.
    static func lost(
        _ secrets: PasswordQuery,
        beside present: Set<String>,
        _ calls: KeychainCalls
    ) throws(TouchstoneError) -> [ListedPassword] {
        var lost: [ListedPassword] = []
        for item in try calls.attributes(Mark(secrets).query) {
            guard let account = item[kSecAttrAccount as String] as? String, !present.contains(account) else {
                continue
            }
            switch State(item[kSecAttrGeneric as String] as? Data) {
            case .pending: continue
            case .lost(let date): lost.append(ListedPassword(account: account, standing: .invalidated(date)))
            case .stored:
                let now = Date()
                var one = secrets
                one.account = account
                try Mark(one).set(.lost(now), calls)
                lost.append(ListedPassword(account: account, standing: .invalidated(now)))
            }
        }
        return lost
    }
}

/// Detects a locked keychain by an item that can be read only while it is unlocked.
enum LockProbe {
    /// Its service.
    static let service = "touchstone.lock"
}

extension KeychainCalls {
    /// Whether the keychain is locked now.
    func isLocked() throws(TouchstoneError) -> Bool {
        let probe = PasswordQuery(service: LockProbe.service, account: "")
        do throws(TouchstoneError) {
            let silent = KeychainCalls(session: session.link.makeSession(), prompt: nil)
            if try ifPresent({ () throws(TouchstoneError) in try silent.copy(probe, under: nil) }) == nil {
                _ = try silent.addAlone(NewPassword(attributes: probe, rule: .whenUnlocked, bytes: Data([1])))
            }
            return false
        } catch {
            guard error.code == .locked else { throw error }
            return true
        }
    }
}
