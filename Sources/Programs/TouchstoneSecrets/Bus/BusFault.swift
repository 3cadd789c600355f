import KeychainModel
import SecretServiceModel

/// An error reply: its D-Bus name, and a text for the log of the client.
struct BusFault: Error, Equatable {
    let name: String
    let text: String

    init(_ name: String, _ text: String) {
        self.name = name
        self.text = text
    }

    /// The keychain, the collection or the item is locked.
    static let isLocked = BusFault("org.freedesktop.Secret.Error.IsLocked", "locked")
    /// The session is closed, or another client's.
    static let noSession = BusFault("org.freedesktop.Secret.Error.NoSession", "there is no such session")

    /// There is no such collection or item.
    static func noSuchObject(_ path: String) -> BusFault {
        BusFault("org.freedesktop.Secret.Error.NoSuchObject", "there is no object \(path)")
    }

    /// There is no such object at all, or it is another client's.
    static func unknownObject(_ path: String) -> BusFault {
        BusFault("org.freedesktop.DBus.Error.UnknownObject", "there is no object \(path)")
    }

    static func unknownMethod(_ name: String) -> BusFault {
        BusFault("org.freedesktop.DBus.Error.UnknownMethod", "there is no method \(name)")
    }

    static func unknownProperty(_ name: String) -> BusFault {
        BusFault("org.freedesktop.DBus.Error.UnknownProperty", "there is no property \(name)")
    }

    static func readOnly(_ name: String) -> BusFault {
        BusFault("org.freedesktop.DBus.Error.PropertyReadOnly", "the property \(name) cannot be set")
    }

    static func notSupported(_ text: String) -> BusFault {
        BusFault("org.freedesktop.DBus.Error.NotSupported", text)
    }

    static func invalidArguments(_ text: String) -> BusFault {
        BusFault("org.freedesktop.DBus.Error.InvalidArgs", text)
    }

    static func limit(_ text: String) -> BusFault {
        BusFault("org.freedesktop.DBus.Error.LimitsExceeded", text)
    }

    static func failed(_ text: String) -> BusFault {
        BusFault("org.freedesktop.DBus.Error.Failed", text)
    }

    /// The reply for an error of the keychain.
    init(_ error: KeychainError) {
        if error.isOfLock {
            self = .isLocked
            return
        }
        switch error.status {
        case .itemNotFound:
            self = BusFault("org.freedesktop.Secret.Error.NoSuchObject", "there is no such item")
        case .dataTooLarge: self = .limit("the secret is too long")
        default:
            let cause = error.cause.map { " (\($0.domain): \($0.code))" } ?? ""
            self = .failed("the keychain answers with status \(error.status.rawValue)\(cause)")
        }
    }
}

/// What `body` returns; nil while the keychain is locked and nothing is known of its items.
func unlessLocked<R>(_ body: () throws(BusFault) -> R) throws(BusFault) -> R? {
    do throws(BusFault) {
        return try body()
    } catch {
        guard error == .isLocked else { throw error }
        return nil
    }
}

/// What `body` returns; an error of the keychain becomes an error reply.
@discardableResult
func replying<R: ~Copyable>(_ body: () throws(KeychainError) -> R) throws(BusFault) -> R {
    do throws(KeychainError) {
        return try body()
    } catch {
        throw BusFault(error)
    }
}

extension SecretItemContent {
    /// - Throws: ``BusFault`` if it cannot be stored.
    func checkLimits() throws(BusFault) {
        if let fault { throw .limit(fault) }
    }

    /// - Throws: ``BusFault`` if no item can have these attributes.
    static func check(_ attributes: [String: String]) throws(BusFault) {
        if let fault = fault(in: attributes) { throw .limit(fault) }
    }
}

extension KeychainError {
    /// Whether a lock is the reason: nothing is known of the items, which are there or not.
    ///
    /// A keychain that cannot be reached counts as locked: clients then wait, and make no new keys.
    var isOfLock: Bool {
        switch cause?.known {
        case .locked, .closed, .notSetUp: return true
        default: break
        }
        switch status {
        case .interactionNotAllowed, .authFailed, .notAvailable, .internalComponent: return true
        default: return false
        }
    }
}
