import KeychainModel
import SecretMemory

/// Uses of named keys by programs that ask by themselves, as those do that load the PKCS#11 module.
///
/// Such a program may be any of the user's, and its word is not taken for what a use is for: the desk words the prompt, the proofs
/// count for one use, and a key that is for certain hosts is refused, because the host is not known here.
extension Visit {
    /// Uses a named key; a representation stands for its key, so that the request need not name the group.
    ///
    /// - Throws: as ``useKey(_:request:purpose:)``; `errSecMissingEntitlement` for a key that is for certain hosts,
    ///   `errSecItemNotFound` for one without an item, which nobody may use.
    func useNamedKey(_ body: UseKey, request: UInt64) async throws(KeychainError) -> SecretBytes {
        let key = try await namedKey(
            body.representation,
            PromptFields(origin: body.prompt.origin, interactionAllowed: false)
        )
        guard key.hosts.isEmpty else {
            let detail = "a key that is for certain hosts, \(PromptDetails.quoted(key.name)), for another use"
            failures.recordRefusal(detail, kind: "named key", by: asker.callerWithStarters)
            throw KeychainError(.missingEntitlement)
        }
        let prompt = PromptFields(
            origin: body.prompt.origin,
            reason: Self.reason(of: body.use, with: key),
            details: PromptDetails(items: ["What for, and for which host, is not known."]),
            interactionAllowed: body.prompt.interactionAllowed,
            tellsMisses: body.prompt.tellsMisses
        )
        // Not the request's context: the program may have worded the prompt of a proof in it.
        let purpose = "with \(PromptDetails.quoted(key.name)), purpose not known"
        let result = try await use(
            body,
            in: [NamedKey.group],
            purpose: purpose,
            prompt: prompt,
            context: nil,
            request: request
        )
        record(Self.verb(of: body.use), purpose)
        return result
    }

    /// The named key with this representation, as its item describes it; shows no prompt.
    private func namedKey(
        _ representation: [UInt8],
        _ prompt: PromptFields
    ) async throws(KeychainError) -> NamedKey {
        let publicKey = try await services.keys.key(representation, groups: [NamedKey.group]).publicKey
        var prompts = PromptBudget(context: nil, request: nil, prompt: prompt)
        let items = try await calling(&prompts, usesKey: false) { (authorization) throws(KeychainError) in
            try services.vault.copy(
                NamedKey.of(publicKey),
                groups: [NamedKey.group],
                authorization: authorization,
                after: nil
            )
        }
        guard let key = items.namedKeys().first, key.representation == representation else {
            throw KeychainError(.itemNotFound)
        }
        return key
    }

    private static func reason(of use: KeyUse, with key: NamedKey) -> String {
        let name = PromptDetails.quoted(key.name)
        return switch use {
        case .sign, .signCounted: "Sign with the key \(name)."
        case .agree: "Agree on a secret with the key \(name)."
        case .decrypt: "Decrypt with the key \(name)."
        }
    }
}
