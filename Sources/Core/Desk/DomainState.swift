import KeychainModel
import Primitives
import SecretMemory

/// The state of the enrolled fingers as one app sees it (`evaluatedPolicyDomainState`).
///
/// It changes whenever the keybag's own state does, and every group gets different bytes, so that apps cannot use it to
/// tell that they are on one machine.
enum DomainState {
    /// HMAC-SHA256 of the group's name, keyed with the keybag's state, which no app gets.
    static func of(_ state: [UInt8], for group: AccessGroup) -> [UInt8] {
        let name = Array("touchstone 1 domain state \(group.name)".utf8)
        return KeyedDigest.of(name, key: Key(SecretBytes(copying: state)))
    }
}

extension AuthenticationAvailability {
    /// The same with the domain state for this group.
    func told(to group: AccessGroup) -> AuthenticationAvailability {
        var told = self
        told.domainState = domainState.map { DomainState.of($0, for: group) }
        return told
    }
}
