/// The operation that an access control is evaluated for.
public enum LAAccessControlOperation: Int, Sendable {
    /// Creation of an item.
    case createItem = 0
    /// Use of an item.
    case useItem = 1
    /// Creation of a key.
    case createKey = 2
    /// Use of a key for a signature.
    case useKeySign = 3
    /// Use of a key for decryption.
    case useKeyDecrypt = 4
    /// Use of a key for key exchange.
    case useKeyKeyExchange = 5
}
