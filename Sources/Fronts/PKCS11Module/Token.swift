import CPKCS11
import KeychainClient
import KeychainModel
import SecretMemory

/// The keychain as the token.
extension Module {
    /// Whether there is a keychain that a daemon serves; asks for nothing, and does not start one.
    func isTokenPresent() throws(ReturnValue) -> Bool {
        let keychain = try withState { $0.keychain }
        do throws(KeychainError) {
            _ = try Self.keys(of: keychain, mayAsk: false)
            return true
        } catch {
            // Items that cannot be read yet are there.
            return error.cause?.known == .locked
        }
    }

    /// - Throws: `CKR_TOKEN_NOT_PRESENT`.
    func requireToken() throws(ReturnValue) {
        guard try isTokenPresent() else { throw .tokenNotPresent }
    }

    /// Reads the keys again; before the first unlock asks for it, once per process.
    ///
    /// Handles of keys that are still there stay the same; those of others are gone.
    func readKeys() throws(ReturnValue) {
        let keychain = try withState { $0.keychain }
        let keys: [NamedKey]
        do throws(KeychainError) {
            keys = try Self.keys(of: keychain, mayAsk: false)
        } catch {
            guard error.cause?.known == .locked else { throw ReturnValue(error) }
            let asks = try withState { state in
                defer { state.hasAskedToUnlock = true }
                return !state.hasAskedToUnlock
            }
            // Locked must not look like empty.
            guard asks else { throw .functionRejected }
            do throws(KeychainError) {
                keys = try Self.keys(of: keychain, mayAsk: true)
            } catch {
                throw ReturnValue(error)
            }
        }
        try withState { $0.replaceKeys(by: keys) }
    }

    /// The keys that this door may use: one for certain hosts signs for them alone, and the host is not known here.
    private static func keys(of keychain: RemoteKeychain, mayAsk: Bool) throws(KeychainError) -> [NamedKey] {
        var keys: [NamedKey] = []
        do throws(KeychainError) {
            let prompt = PromptFields(
                origin: mayAsk ? .current() : PromptOrigin(),
                reason: "List the keys.",
                interactionAllowed: mayAsk
            )
            try keychain.copy(CopyItems(query: NamedKey.all, prompt: prompt)).forEach { item in
                if let key = item.attributes.flatMap(NamedKey.init), key.hosts.isEmpty { keys.append(key) }
            }
        } catch {
            guard error.status == .itemNotFound else { throw error }
        }
        return keys.sorted { ($0.created ?? 0, $0.name) < ($1.created ?? 0, $1.name) }
    }

    /// Uses a key for a session, and asks the user if its rule says so; no lock is held meanwhile.
    func use(
        _ key: NamedKey,
        _ use: KeyUse,
        for session: CK_SESSION_HANDLE
    ) throws(ReturnValue) -> SecretBytes {
        let cancellation = Cancellation()
        let keychain = try withState { state throws(ReturnValue) in
            try state.with(session) { session in session.waiting.append(cancellation) }
            return state.keychain
        }
        defer {
            // The session, or the library, may have been closed meanwhile.
            try? withState { state throws(ReturnValue) in
                try state.with(session) { session in session.waiting.removeAll { $0 === cancellation } }
            }
        }
        do throws(KeychainError) {
            // The daemon words the prompt for a named key.
            let prompt = PromptFields(
                origin: .current(),
                reason: "Use the key \(PromptDetails.quoted(key.name))."
            )
            let request = UseKey(representation: key.representation, use: use, prompt: prompt)
            return try keychain.useKey(request, cancellation: cancellation)
        } catch {
            throw ReturnValue(error)
        }
    }
}

extension Module.State {
    /// Puts these keys in the place of those known so far.
    mutating func replaceKeys(by keys: [NamedKey]) {
        var handles: [[UInt8]: (own: CK_OBJECT_HANDLE?, open: CK_OBJECT_HANDLE?)] = [:]
        for (handle, object) in objects where object.session == nil {
            switch object.kind {
            case .privateKey(let key): handles[key.representation, default: (nil, nil)].own = handle
            case .publicKey(let key): handles[key.representation, default: (nil, nil)].open = handle
            case .secret: break
            }
            objects[handle] = nil
        }
        for key in keys where objects.count + 2 <= Module.mostObjects {
            let known = handles[key.representation]
            objects[known?.own ?? Module.nextHandle()] = StoredObject(kind: .privateKey(key), session: nil)
            objects[known?.open ?? Module.nextHandle()] = StoredObject(kind: .publicKey(key), session: nil)
        }
    }

    /// The object of a handle.
    func object(_ handle: CK_OBJECT_HANDLE) throws(ReturnValue) -> StoredObject {
        guard let object = objects[handle] else { throw .objectHandleInvalid }
        return object
    }

    /// The private key of a handle.
    func privateKey(_ handle: CK_OBJECT_HANDLE) throws(ReturnValue) -> NamedKey {
        guard let object = objects[handle] else { throw .keyHandleInvalid }
        guard let key = object.privateKey else { throw ReturnValue(code: CKR_KEY_FUNCTION_NOT_PERMITTED) }
        return key
    }
}
