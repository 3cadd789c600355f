internal import Foundation
internal import KeychainClient
internal import KeychainModel

/// A key's successor: it waits under a place of its own until the key is deleted, and then has its name.
///
/// Nothing of it is lost between two steps: whoever looks for a name whose key is gone finds the one that waits.
extension KeychainLink {
    /// Makes the successor of a key, or finds the one that waits.
    func makeSuccessor<Purpose>(
        of key: DeviceKey<Purpose>,
        challenge: Data?,
        at place: KeyPlace
    ) async throws(TouchstoneError) -> KeyRecord {
        let prompt = fields(nil)
        let waiting: KeyRecord? = try await call { client, cancellation throws(TouchstoneError) in
            if let waiting = try client.record(at: place.ofSuccessor, prompt, cancellation) { return waiting }
            // A key that was deleted gets none, which would bring its name back.
            guard try client.record(at: place, prompt, cancellation)?.representation == key.representation
            else {
                throw TouchstoneError(.notFound)
            }
            return nil
        }
        if let waiting { return waiting }
        // As long a time as the key had.
        let expires = key.expires.map { Date() + $0.timeIntervalSince(key.created) }
        do throws(TouchstoneError) {
            return try await makeKey(key.rule, expires: expires, challenge: challenge, at: place.ofSuccessor)
        } catch {
            // Another program was first.
            guard error.code == .alreadyExists else { throw error }
            return try await findKey(at: place.ofSuccessor)
        }
    }

    /// Deletes the record of this key, wherever it is, and gives its name to the successor that waits.
    func deleteKey(at place: KeyPlace, _ representation: Data) async throws(TouchstoneError) -> Deletion {
        let prompt = fields(nil)
        return try await call { client, cancellation throws(TouchstoneError) in
            let mark = KeyRecord.mark(of: representation)
            return try below { () throws(KeychainError) in
                if try client.deletes(place.query(mark: mark), prompt, cancellation) {
                    _ = try client.promote(to: place, prompt, cancellation)
                    return .deleted
                }
                let isSuccessor = try client.deletes(
                    place.ofSuccessor.query(mark: mark),
                    prompt,
                    cancellation
                )
                return isSuccessor ? .deleted : .wasAbsent
            }
        }
    }

    /// Deletes whatever has a name, or waits for it.
    func deleteKeys(at place: KeyPlace) async throws(TouchstoneError) -> Deletion {
        let prompt = fields(nil)
        return try await call { client, cancellation throws(TouchstoneError) in
            try below { () throws(KeychainError) in
                // First the one that would get the name.
                let wasThere = try [place.ofSuccessor, place].map { place throws(KeychainError) in
                    try client.deletes(place.query(), prompt, cancellation)
                }
                return wasThere.contains(true) ? .deleted : .wasAbsent
            }
        }
    }
}

extension RemoteKeychain {
    /// The record of the key that has a name; that of the one that waits for it, where the name is free.
    func current(
        at place: KeyPlace,
        _ prompt: PromptFields,
        _ cancellation: Cancellation
    ) throws(TouchstoneError) -> KeyRecord? {
        if let record = try record(at: place, prompt, cancellation) { return record }
        // A key was deleted, and the process ended before its name was given on.
        guard try below({ () throws(KeychainError) in try promote(to: place, prompt, cancellation) }) else {
            return nil
        }
        return try record(at: place, prompt, cancellation)
    }

    /// Gives a name to the key that waits for it.
    ///
    /// - Returns: whether there was one.
    func promote(
        to place: KeyPlace,
        _ prompt: PromptFields,
        _ cancellation: Cancellation
    ) throws(KeychainError) -> Bool {
        let renamed: Void? = try ifPresent { () throws(KeychainError) in
            let update = UpdateItems(
                query: place.ofSuccessor.query(),
                attributes: place.attributes,
                accessControl: nil,
                data: nil,
                prompt: prompt
            )
            try self.update(update, cancellation: cancellation)
        }
        return renamed != nil
    }
}
