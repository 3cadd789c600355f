internal import Foundation
internal import KeychainClient
internal import KeychainModel
internal import SecretMemory

// For `TouchstoneLogin`, which renews a token that only the user may read, and keeps a record of its keys.

extension SecretStore {
    /// Stores a value in place of any other of its key, durably and in one step: a refusal or a crash leaves the other one.
    ///
    /// Reads nothing and shows no prompt; ``delete(_:)`` and then ``write(_:for:with:)`` need no authentication either. The value gets this
    /// store's rule, and so does the store, whatever rule it had; values of other keys cannot be read under it then.
    ///
    /// - Parameters:
    ///   - value: The value, as for ``write(_:for:with:)``.
    ///   - key: The value's key.
    ///   - keys: The representations of the private keys that are deleted with the value, or with its replacement by one without
    ///     them; at most 3.
    /// - Throws: ``TouchstoneError`` as ``write(_:for:with:)``, except `invalidated` and `ruleMismatch`; `locked` for a locked
    ///   keychain.
    package func replaceUnread(
        _ value: some Encodable,
        for key: String,
        keys: [[UInt8]] = []
    ) async throws(TouchstoneError) {
        let access = try access(.silent, key)
        let bytes = try SecretCoding.encode(value)
        let link = keychain.link
        try await link.recording(access.item) { () throws(TouchstoneError) in
            try await link.call(nil) { calls throws(TouchstoneError) in
                try StoreCalls(calls: calls, access: access).replaceUnread(bytes, key, keys.map { Data($0) })
            }
        }
    }
}

extension StoreCalls {
    fileprivate func replaceUnread(_ bytes: Data, _ key: String, _ keys: [Data]) throws(TouchstoneError) {
        let (rule, place) = (access.store.rule, StorePlace(access.store))
        try rule.checkLevel(try calls.level())
        try calls.checkSensor(rule)
        let attributes = place.query(key, version: StorePlace.newVersion(), rule: rule)
        try calls.put(
            NewPassword(attributes: attributes, rule: rule, bytes: bytes, keys: keys),
            inPlaceOf: place.query(key)
        )
        // A value can be read under its own rule, so it comes first: an interruption here leaves a store that the next call mends.
        let marker = place.query(StorePlace.marker)
        let version = Array(rule.description.utf8)
        guard try calls.generic(of: marker) != version else { return }
        try calls.put(
            NewPassword(
                attributes: place.query(StorePlace.marker, version: version),
                rule: rule.ofMarker,
                bytes: nil
            ),
            inPlaceOf: marker
        )
    }
}

extension KeychainCalls {
    /// Stores a password in place of those that match, in one request that reads none of them.
    fileprivate func put(_ password: NewPassword, inPlaceOf query: PasswordQuery) throws(TouchstoneError) {
        try below { () throws(KeychainError) in
            let room = try LockedRoom.shared.reserve(
                2 * (password.bytes?.count ?? 0),
                cancellation: cancellation
            )
            defer { withExtendedLifetime(room) {} }
            let request = ReplaceItem(
                query: query.itemQuery([]),
                itemClass: .genericPassword,
                attributes: password.storedAttributes,
                accessControl: try password.accessControl(),
                data: try password.bytes.map { bytes throws(KeychainError) in try SecretBytes.locked(bytes) },
                prompt: prompt
            )
            try client.replace(request, cancellation: cancellation)
        }
    }
}
