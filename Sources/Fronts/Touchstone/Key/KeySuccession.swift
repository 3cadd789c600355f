internal import Foundation

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
        let waiting: KeyRecord? = try await call(nil) { calls throws(TouchstoneError) in
            if let waiting = try calls.record(at: place.ofSuccessor) { return waiting }
            // A key that was deleted gets none, which would bring its name back.
            guard try calls.record(at: place)?.representation == key.representation else {
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
        try await call(nil) { calls throws(TouchstoneError) in
            let mark = KeyRecord.mark(of: representation)
            if try calls.delete(place.query(mark: mark)) {
                _ = try calls.promote(to: place)
                return .deleted
            }
            return try calls.delete(place.ofSuccessor.query(mark: mark)) ? .deleted : .wasAbsent
        }
    }

    /// Deletes whatever has a name, or waits for it.
    func deleteKeys(at place: KeyPlace) async throws(TouchstoneError) -> Deletion {
        try await call(nil) { calls throws(TouchstoneError) in
            // First the one that would get the name.
            let wasThere = try [place.ofSuccessor, place].map { place throws(TouchstoneError) in
                try calls.delete(place.query())
            }
            return wasThere.contains(true) ? .deleted : .wasAbsent
        }
    }
}

extension KeychainCalls {
    /// The record of the key that has a name; that of the one that waits for it, where the name is free.
    func current(at place: KeyPlace) throws(TouchstoneError) -> KeyRecord? {
        if let record = try record(at: place) { return record }
        // A key was deleted, and the process ended before its name was given on.
        guard try promote(to: place) else { return nil }
        return try record(at: place)
    }

    /// Gives a name to the key that waits for it.
    ///
    /// - Returns: whether there was one.
    func promote(to place: KeyPlace) throws(TouchstoneError) -> Bool {
        let renamed: Void? = try ifPresent { () throws(TouchstoneError) in
            try rename(place.ofSuccessor.query(), to: place.query())
        }
        return renamed != nil
    }
}
