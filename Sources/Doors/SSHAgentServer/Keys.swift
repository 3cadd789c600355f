import Desk
import KeychainModel
import SecretMemory

/// The named keys, as a visit sees them.
struct Keys: Sendable {
    let visit: Visit

    /// All keys, the oldest first; shows no prompt.
    ///
    /// - Throws: `errSecInteractionNotAllowed` with the cause ``DriverCause/locked`` before the first unlock.
    func all(request: UInt64) async throws(KeychainError) -> [NamedKey] {
        do throws(KeychainError) {
            return try await find(NamedKey.all, PromptFields(interactionAllowed: false), nil, request)
                .sorted { ($0.created ?? 0, $0.name) < ($1.created ?? 0, $1.name) }
        } catch {
            guard error.status == .itemNotFound else { throw error }
            return []
        }
    }

    /// The key of a public key; unlocks the keychain if needed, with the proofs in the context.
    ///
    /// - Throws: `errSecItemNotFound` if there is none.
    func key(
        of publicKey: [UInt8],
        _ prompt: PromptFields,
        context: UInt64,
        request: UInt64
    ) async throws(KeychainError) -> NamedKey {
        guard let key = try await find(NamedKey.of(publicKey), prompt, context, request).first else {
            throw KeychainError(.itemNotFound)
        }
        return key
    }

    private func find(
        _ query: ItemQuery,
        _ prompt: PromptFields,
        _ context: UInt64?,
        _ request: UInt64
    ) async throws(KeychainError) -> [NamedKey] {
        let found = Guarded<[NamedKey]>([])
        let copy = CopyItems(query: query, context: context, prompt: prompt)
        _ = try await visit.copy(copy, request: request) { page, _ in
            let keys = page.namedKeys()
            found.withLock { $0 += keys }
            return true
        }
        return found.withLock { $0 }
    }
}

/// The public keys as last listed, kept for the time before the first unlock.
final class KeyList: Sendable {
    private let notes: any PublicKeyNotes
    /// What the notes hold; nil before they were read.
    private let held = Guarded<[[UInt8]]?>(nil)

    init(_ notes: any PublicKeyNotes) { self.notes = notes }

    /// The keys; nil if they cannot be read.
    var known: [[UInt8]]? {
        held.withLock { held in
            if held == nil { held = (try? notes.read()) ?? nil }
            return held
        }
    }

    /// Keeps the keys of a list that was just made.
    func note(_ keys: [[UInt8]]) {
        let keys = Array(keys.prefix(NamedKey.most))
        guard known != keys else { return }
        held.withLock { held in
            // A list that cannot be kept is made anew after the next unlock.
            if (try? notes.write(keys)) != nil { held = keys }
        }
    }
}
