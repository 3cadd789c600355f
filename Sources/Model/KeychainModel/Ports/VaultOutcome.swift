/// The outcome of a call about items or private keys that may need something first.
public enum VaultOutcome<Value: ~Copyable & Sendable>: ~Copyable, Sendable {
    /// Done.
    case done(Value)
    /// Done and durable, but an older copy of the files could still undo it unnoticed: call ``ItemVault/settle()``,
    /// then report it.
    case needsHardware(Value)
    /// Nothing was done: the user must satisfy these access controls; then call again.
    case needsUser([AccessControl])
    /// Nothing was done: derive the application password's key with ``ItemVault/key(of:)``, then call again with it.
    case needsKey
}

extension VaultOutcome: Copyable where Value: Copyable {}

extension VaultOutcome where Value: ~Copyable {
    /// Whether the call did what it was to do.
    public var isDone: Bool {
        switch self {
        case .done: true
        case .needsHardware: true
        case .needsUser: false
        case .needsKey: false
        }
    }
}
