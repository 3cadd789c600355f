/// The decision about releasing an item's key to a caller; never a plain Boolean.
public enum AccessDecision: Equatable, Sendable {
    /// All needed factors were shown.
    case granted
    /// These factors must still be shown.
    case needs(AuthenticationRequirement)
    /// The constraints can never be met on this machine.
    case denied(AuthenticationError)
}
