import CPKCS11
import KeychainClient
import KeychainModel

/// A session: what it found, and what it has begun.
struct Session {
    /// A signature that was begun.
    struct Signing {
        let key: NamedKey
        /// The digest so far; nil for a mechanism whose data is the digest.
        var hash: Hash?
        /// Whether a part was given, so that only `C_SignFinal` ends it.
        var hasParts = false
    }

    /// An operation of one kind.
    enum Operation<Value> {
        case none
        case begun(Value)
        /// The last call of it waits for the user.
        case waiting
    }

    let isReadWrite: Bool
    /// The handles that `C_FindObjects` has yet to return; nil outside a search.
    var found: ArraySlice<CK_OBJECT_HANDLE>?
    var signing = Operation<Signing>.none
    var digest: Hash?
    var hasDigestParts = false
    /// The requests that wait for the user, which end with the session.
    var waiting: [Cancellation] = []

    init(isReadWrite: Bool) { self.isReadWrite = isReadWrite }

    /// The signature that was begun.
    var begun: Signing {
        get throws(ReturnValue) {
            switch signing {
            case .begun(let signing): signing
            case .none: throw .operationNotInitialized
            case .waiting: throw .operationActive
            }
        }
    }
}
