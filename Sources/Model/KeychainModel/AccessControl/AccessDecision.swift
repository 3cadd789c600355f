/// What stands between a caller and an item's key; never a plain yes.
public enum AccessDecision: Equatable, Sendable {
    /// Everything asked for was shown.
    case granted
    /// One of these sets of factors must still be shown.
    case needs(AuthenticationRequirement)
    /// It can never be shown here.
    case denied(AuthenticationError)
}
