internal import KeychainModel
internal import Primitives
internal import SecretMemory

/// An item's own key, wrapped so that exactly the factors of its access control can open it.
///
/// Without constraints it is wrapped under the class key. With constraints there is one wrap for each way to satisfy
/// them, under a key derived from the class key and all secrets of this way. Layout: format (1 direct, 2 ways), then one
/// wrap, or a count and for each way its mask, a share (32 bytes, zeros if the way has no passcode) and a wrap.
enum ItemKeyWrap {
    /// The factors of one way.
    struct Demand: OptionSet {
        let rawValue: UInt8
        static let biometryAny = Demand(rawValue: 1)
        static let biometryCurrentSet = Demand(rawValue: 2)
        static let passcode = Demand(rawValue: 4)
        static let applicationPassword = Demand(rawValue: 8)
    }

    static let wrapByteCount = Key.byteCount + AEAD.overheadByteCount
    private static let wayByteCount = 1 + PasscodeConstraint.publicKeyByteCount + wrapByteCount
    private static let direct: UInt8 = 1
    private static let ways: UInt8 = 2

    /// The ways to satisfy an access control; empty if that is impossible.
    static func demands(of control: AccessControl) -> [Demand] {
        let password: Demand = control.needsApplicationPassword ? [.applicationPassword] : []
        let single: [Demand] = control.constraints.compactMap { constraint in
            switch constraint {
            case .biometryAny: .biometryAny
            case .biometryCurrentSet: .biometryCurrentSet
            case .devicePasscode: .passcode
            case .userPresence, .companion: nil
            }
        }
        if control.constraints.isEmpty { return [password] }
        if control.flags.contains(.userPresence) {
            return [password.union(.biometryAny), password.union(.passcode)]
        }
        switch control.combination {
        case .any: return single.map { $0.union(password) }
        case .all:
            guard single.count == control.constraints.count else { return [] }
            return [single.reduce(password) { $0.union($1) }]
        }
    }

    /// Wraps a new item's key.
    static func wrap(
        _ itemKey: Key,
        for control: AccessControl,
        in context: ItemContext,
        password: Key?,
        authenticating binding: [UInt8],
        _ random: inout RandomSupply
    ) throws(KeychainError) -> [UInt8] {
        let demands = demands(of: control)
        if demands == [[]] {
            let classKey = try context.classKey(control.accessibility)
            return [direct] + AEAD.seal(itemKey, with: classKey, authenticating: binding, &random)
        }
        let keys = context.keys
        let classKey = try keys.require(KeybagKeyName(control.accessibility.classKey))
        guard !demands.isEmpty else { throw KeychainError(AuthenticationError(.companionNotAvailable)) }
        var octets = [ways, UInt8(demands.count)]
        for demand in demands {
            var secrets = [classKey]
            var share = [UInt8](repeating: 0, count: PasscodeConstraint.publicKeyByteCount)
            if demand.contains(.biometryAny) { secrets.append(try keys.require(.biometryAny)) }
            if demand.contains(.biometryCurrentSet) { secrets.append(try keys.requireCurrentSet()) }
            if demand.contains(.passcode) {
                guard let fresh = PasscodeConstraint.encapsulate(to: context.passcodePublicKey) else {
                    throw .damaged
                }
                share = fresh.share
                secrets.append(fresh.key)
            }
            if demand.contains(.applicationPassword) {
                guard let password else { throw .newPasswordMissing }
                secrets.append(password)
            }
            let wrapping = wrappingKey(secrets, demand)
            octets.append(demand.rawValue)
            octets.append(contentsOf: share)
            octets += AEAD.seal(
                itemKey,
                with: wrapping.symmetric,
                authenticating: binding + [demand.rawValue],
                &random
            )
        }
        return octets
    }

    /// Unwraps an item's key with the secrets in the proofs.
    ///
    /// `proofs` are those that cover the access control; their claims alone are not sufficient, the keys are needed.
    static func open(
        _ octets: [UInt8],
        control: AccessControl,
        keys: KeyRing,
        proofs: [AuthenticationProof],
        password: Key?,
        authenticating context: [UInt8]
    ) throws(KeychainError) -> Key {
        let shown = proofs.map { proof in
            Shown(biometry: proof.factors.contains(.biometry), passcodeKey: proof.passcodeKey)
        }
        return try open(
            octets,
            control: control,
            keys: keys,
            shown: shown,
            password: password,
            authenticating: context
        )
    }

    /// The factors shown together in one authentication; the keys are needed as well.
    struct Shown {
        let biometry: Bool
        let passcodeKey: PasscodeKey?
    }

    /// ``open(_:control:keys:proofs:password:authenticating:)`` with factors from proofs, or those opened by the recovery
    /// code.
    static func open(
        _ octets: [UInt8],
        control: AccessControl,
        keys: KeyRing,
        shown: [Shown],
        password: Key?,
        authenticating context: [UInt8]
    ) throws(KeychainError) -> Key {
        let classKey = try keys.require(KeybagKeyName(control.accessibility.classKey))
        if octets.first == direct, octets.count == 1 + wrapByteCount {
            do {
                return try AEAD.openKey(
                    Array(octets[1...]),
                    with: classKey.symmetric,
                    authenticating: context
                )
            } catch {
                throw .damaged
            }
        }
        guard octets.count >= 2, octets[0] == ways, octets.count == 2 + Int(octets[1]) * wayByteCount else {
            throw .damaged
        }
        var isPasswordMissing = false
        var isWayTried = false
        for start in stride(from: 2, to: octets.count, by: wayByteCount) {
            let demand = Demand(rawValue: octets[start])
            if demand.contains(.applicationPassword), password == nil {
                isPasswordMissing = true
                continue
            }
            let share = Array(octets[(start + 1)..<(start + 1 + PasscodeConstraint.publicKeyByteCount)])
            let wrapped = Array(octets[(start + wayByteCount - wrapByteCount)..<(start + wayByteCount)])
            for candidate in candidates(for: demand, shown) {
                guard let rest = try secrets(for: demand, keys, candidate, share, password) else { continue }
                isWayTried = true
                let wrapping = wrappingKey([classKey] + rest, demand)
                let key = try? AEAD.openKey(
                    wrapped,
                    with: wrapping.symmetric,
                    authenticating: context + [demand.rawValue]
                )
                if let key { return key }
            }
        }
        if isWayTried { throw control.needsApplicationPassword ? .passwordWrong : .damaged }
        throw isPasswordMissing ? .passwordMissing : KeychainError(.authFailed)
    }

    /// Whether a wrap is under the class key alone.
    static func isDirect(_ octets: UnsafeRawBufferPointer) -> Bool {
        unsafe octets.count == 1 + wrapByteCount && octets[0] == direct
    }

    /// Unwraps a key that is under the class key alone.
    static func openDirect(
        _ octets: UnsafeRawBufferPointer,
        into place: inout AEADKeyPlace,
        with classKey: AEADKey,
        authenticating context: UnsafeRawBufferPointer
    ) throws(KeychainError) {
        do {
            let wrap = unsafe UnsafeRawBufferPointer(rebasing: octets[1...])
            try unsafe place.take(wrap, with: classKey, authenticating: context)
        } catch {
            throw .damaged
        }
    }

    /// The wraps that remain after the key of the enrolled set was destroyed; nil if none remains.
    static func withoutCurrentSet(_ octets: [UInt8]) -> [UInt8]? {
        guard octets.count >= 2, octets[0] == ways, octets.count == 2 + Int(octets[1]) * wayByteCount else {
            return nil
        }
        var kept: [UInt8] = []
        for start in stride(from: 2, to: octets.count, by: wayByteCount)
        where !Demand(rawValue: octets[start]).contains(.biometryCurrentSet) {
            kept += octets[start..<(start + wayByteCount)]
        }
        return kept.isEmpty ? nil : [ways, UInt8(kept.count / wayByteCount)] + kept
    }

    /// A way with constraints needs a proof; a way with a password alone needs none.
    private static func candidates(for demand: Demand, _ shown: [Shown]) -> [Shown?] {
        demand.subtracting(.applicationPassword).isEmpty ? [nil] : shown.reversed()
    }

    /// The secrets of a way besides the class key; nil if the shown factors do not provide them.
    private static func secrets(
        for demand: Demand,
        _ keys: KeyRing,
        _ shown: Shown?,
        _ share: [UInt8],
        _ password: Key?
    ) throws(KeychainError) -> [Key]? {
        var secrets: [Key] = []
        if !demand.isDisjoint(with: [.biometryAny, .biometryCurrentSet]) {
            guard let shown, shown.biometry else { return nil }
            if demand.contains(.biometryAny) { secrets.append(try keys.require(.biometryAny)) }
            if demand.contains(.biometryCurrentSet) { secrets.append(try keys.require(.biometryCurrentSet)) }
        }
        if demand.contains(.passcode) {
            guard let privateKey = shown?.passcodeKey,
                let agreed = PasscodeConstraint.decapsulate(share, with: privateKey)
            else { return nil }
            secrets.append(agreed)
        }
        if demand.contains(.applicationPassword), let password { secrets.append(password) }
        return secrets
    }

    private static func wrappingKey(_ secrets: [Key], _ demand: Demand) -> Key {
        KeyDerivation.derive(.itemKey, way: demand.rawValue, from: secrets, salt: [])
    }
}

extension KeychainError {
    /// The item needs its application password and the context has none.
    static var passwordMissing: KeychainError {
        KeychainError(.authFailed, cause: .applicationPasswordMissing)
    }

    /// A new item needs an application password and the context has none.
    static var newPasswordMissing: KeychainError {
        KeychainError(.authFailed, cause: .newApplicationPasswordMissing)
    }

    /// The context's application password is another one, or the item was damaged: the wrap does not tell which.
    static var passwordWrong: KeychainError {
        KeychainError(.authFailed, cause: .applicationPasswordWrong)
    }
}
