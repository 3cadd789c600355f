internal import Foundation
internal import Security

/// What tells that a secret was stored: an item without an access control beside each that asks the user.
///
/// A secret that a change of fingers took away is simply not there any more on Apple's systems. A mark that says "stored" beside
/// no secret is that of a lost one; the day is that on which it was first seen.
struct Mark {
    /// How the service of all marks begins.
    static let prefix = "touchstone.mark:"

    enum State: Equatable {
        /// It says nothing: its secret is just being added or deleted.
        case pending
        case stored
        /// It was seen that the secret is gone.
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

    /// The mark; those of all secrets of a service where no account is named.
    let query: PasswordQuery
    private let secret: PasswordQuery

    init(_ secret: PasswordQuery) {
        self.secret = secret
        query = PasswordQuery(
            service: Self.prefix + secret.service,
            account: secret.account,
            group: secret.group,
            // The rule, which a look-up under another rule does not find.
            comment: secret.comment
        )
    }

    /// Makes it, or changes all that the query finds.
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

    /// Whether a secret was stored here.
    func hasStored(_ calls: KeychainCalls) throws(TouchstoneError) -> Bool {
        try calls.attributes(query).contains { State($0[kSecAttrGeneric as String] as? Data) != .pending }
    }

    /// Whether its secret was stored and is there in no version.
    func isOfLost(_ calls: KeychainCalls) throws(TouchstoneError) -> Bool {
        var any = secret
        any.generic = nil
        return try !Self.lost(any, beside: try calls.accounts(any), calls).isEmpty
    }

    /// The secrets that were stored and are not there.
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

/// Tells whether the keychain is locked: an item that can be read while it is unlocked.
enum LockProbe {
    /// Its service.
    static let service = "touchstone.lock"
}

extension KeychainCalls {
    /// Whether what needs an unlocked keychain cannot be read now.
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
