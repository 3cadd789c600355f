internal import Foundation

/// A key's successor: it waits at a place of its own until the key is deleted, then takes over its name.
///
/// An interruption between two steps loses nothing: a look-up of the name without a key finds the waiting
/// successor.
extension KeychainLink {
    /// Makes the successor of a key, or finds the waiting one.
    func makeSuccessor<Purpose>(
        of key: DeviceKey<Purpose>,
        challenge: Data?,
        at place: KeyPlace
    ) async throws(TouchstoneError) -> KeyRecord {
        let waiting: KeyRecord? = try await call(nil) { calls throws(TouchstoneError) in
            if let waiting = try calls.record(at: place.ofSuccessor) { return waiting }
            // A deleted key gets no successor, which would bring its name back.
            guard try calls.record(at: place)?.representation == key.representation else {
                throw TouchstoneError(.deleted)
            }
            return nil
        }
        if let waiting { return waiting }
        // The successor may be used as long and as often as the key, from now on.
        let start = key.starts ?? key.created
        let lifetime = KeyLifetime(
            expires: key.expires.map { Date() + $0.timeIntervalSince(start) },
            uses: key.uses
        )
        do throws(TouchstoneError) {
            return try await makeKey(key.rule, lifetime, challenge: challenge, at: place.ofSuccessor)
        } catch {
            // Another program made a successor first.
            guard error.code == .alreadyExists else { throw error }
            return try await findKey(at: place.ofSuccessor)
        }
    }

    /// Deletes the record of this key, at its place or its successor's, and promotes a waiting successor.
    func deleteKey(at place: KeyPlace, _ representation: Data) async throws(TouchstoneError) -> Deletion {
        try await call(nil) { calls throws(TouchstoneError) in
            let mark = KeyRecord.mark(of: representation)
            if try calls.delete(place.query(mark: mark)) {
                _ = try calls.promote(to: place)
                return .deleted
            }
            return try calls.delete(place.ofSuccessor.query(mark: mark)) ? .deleted : .wasAbsent
        }
    }

    /// Deletes the key of a name and its waiting successor.
    func deleteKeys(at place: KeyPlace) async throws(TouchstoneError) -> Deletion {
        try await call(nil) { calls throws(TouchstoneError) in
            // Delete the successor first, so that it cannot take the name in between.
            let wasThere = try [place.ofSuccessor, place].map { place throws(TouchstoneError) in
                try calls.delete(place.query())
            }
            return wasThere.contains(true) ? .deleted : .wasAbsent
        }
    }
}

extension KeychainCalls {
    /// The record of the key with a name; if there is none, promotes a waiting successor and returns its
    /// record.
    func current(at place: KeyPlace) throws(TouchstoneError) -> KeyRecord? {
        if let record = try record(at: place) { return record }
        // The process may have exited after it deleted a key and before it promoted the successor.
        guard try promote(to: place) else { return nil }
        return try record(at: place)
    }

    /// Gives a name to the successor waiting for it.
    ///
    /// - Returns: whether a successor was waiting.
    func promote(to place: KeyPlace) throws(TouchstoneError) -> Bool {
        let renamed: Void? = try ifPresent { () throws(TouchstoneError) in
            try rename(place.ofSuccessor.query(), to: place.query())
        }
        return renamed != nil
    }
}
