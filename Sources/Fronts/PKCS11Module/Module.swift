import CPKCS11
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import Synchronization

/// The library in one process: whether it is initialised, its sessions and objects.
///
/// The value of the process that made it: after `fork` the child has it too, does not touch it, because another thread may have held
/// its lock, and makes one of its own. It is never freed, so that a call in progress while another thread finalises finds it.
final class Module: Sendable {
    /// The only slot.
    static let slot: CK_SLOT_ID = 0
    /// The most sessions at one time.
    static let mostSessions = 256
    /// The most objects at one time, those of the token and those of sessions together.
    static let mostObjects = 1024
    /// The most data in one call, in bytes.
    static let mostData = 1 << 20

    /// What is between `C_Initialize` and `C_Finalize`.
    struct State {
        let keychain: RemoteKeychain
        var sessions: [CK_SESSION_HANDLE: Session] = [:]
        var objects: [CK_OBJECT_HANDLE: StoredObject] = [:]
        /// Whether the user was asked to unlock the keychain for a list, which happens once.
        var hasAskedToUnlock = false
        var isLoggedIn = false

        /// The session of a handle, for a change.
        mutating func with<R>(
            _ handle: CK_SESSION_HANDLE,
            _ body: (inout Session) throws(ReturnValue) -> R
        ) throws(ReturnValue) -> R {
            guard var session = sessions[handle] else { throw .sessionHandleInvalid }
            defer { sessions[handle] = session }
            return try body(&session)
        }

        func check(_ handle: CK_SESSION_HANDLE) throws(ReturnValue) {
            guard sessions[handle] != nil else { throw .sessionHandleInvalid }
        }

        /// Removes a session with its objects; returns what waits in it, to be cancelled without the lock.
        mutating func close(_ handle: CK_SESSION_HANDLE) -> [Cancellation] {
            guard let session = sessions.removeValue(forKey: handle) else { return [] }
            objects = objects.filter { $0.value.session != handle }
            if sessions.isEmpty { isLoggedIn = false }
            return session.waiting
        }
    }

    private let process = getpid()
    private let state = Guarded<State?>(nil)

    /// The address of the module that was made last, in this process or before a fork; 0 before the first.
    private static let address = Atomic<UInt>(0)
    /// The last handle of a session or an object: none is given twice in a process.
    private static let lastHandle = Atomic<UInt>(0)

    /// The module of this process; nil if none was made in it.
    static var ofThisProcess: Module? {
        let address = address.load(ordering: .acquiring)
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: address) else { return nil }
        let module = unsafe Unmanaged<Module>.fromOpaque(pointer).takeUnretainedValue()
        return module.process == getpid() ? module : nil
    }

    /// Initialises the library.
    ///
    /// - Throws: `CKR_CRYPTOKI_ALREADY_INITIALIZED`.
    static func initialize() throws(ReturnValue) {
        let old = address.load(ordering: .acquiring)
        let module = ofThisProcess ?? make(insteadOf: old)
        try module.state.withLock { state throws(ReturnValue) in
            guard state == nil else { throw ReturnValue(code: CKR_CRYPTOKI_ALREADY_INITIALIZED) }
            // A library does not start the user's daemon; with socket units the service manager does when it connects.
            state = State(keychain: RemoteKeychain(daemon: .none))
        }
    }

    private static func make(insteadOf old: UInt) -> Module {
        let made = unsafe Unmanaged.passRetained(Module())
        let new = unsafe UInt(bitPattern: made.toOpaque())
        let (isOurs, present) = address.compareExchange(
            expected: old,
            desired: new,
            ordering: .acquiringAndReleasing
        )
        if isOurs { return unsafe made.takeUnretainedValue() }
        unsafe made.release()
        // Another thread made one.
        guard let pointer = unsafe UnsafeRawPointer(bitPattern: present) else {
            preconditionFailure("an address that was exchanged is not zero")
        }
        return unsafe Unmanaged<Module>.fromOpaque(pointer).takeUnretainedValue()
    }

    /// Ends all sessions, wipes their objects, dismisses their prompts, and closes the connection.
    ///
    /// - Throws: `CKR_CRYPTOKI_NOT_INITIALIZED`.
    func finalize() throws(ReturnValue) {
        let ended = state.withLock { $0.take() }
        guard let ended else { throw .notInitialized }
        for cancellation in ended.sessions.values.flatMap(\.waiting) { cancellation.cancel() }
    }

    /// A handle that was never given before.
    static func nextHandle() -> UInt { lastHandle.add(1, ordering: .relaxed).newValue }

    /// Reads or changes the state; no request is made meanwhile, so that other sessions go on while one waits for the user.
    ///
    /// - Throws: `CKR_CRYPTOKI_NOT_INITIALIZED`.
    func withState<R: ~Copyable>(
        _ body: (inout State) throws(ReturnValue) -> R
    ) throws(ReturnValue) -> R {
        try state.withLock { state throws(ReturnValue) in
            guard var present = state else { throw .notInitialized }
            // Changed in place, not in a copy.
            state = nil
            defer { state = present }
            return try body(&present)
        }
    }

    /// Changes the session of a handle.
    func with<R>(
        _ session: CK_SESSION_HANDLE,
        _ body: (inout Session) throws(ReturnValue) -> R
    ) throws(ReturnValue) -> R {
        try withState { state throws(ReturnValue) in try state.with(session, body) }
    }

    /// - Throws: `CKR_SESSION_HANDLE_INVALID`.
    func check(session: CK_SESSION_HANDLE) throws(ReturnValue) {
        try withState { state throws(ReturnValue) in try state.check(session) }
    }

    /// The object of a handle, for a session.
    ///
    /// - Throws: `CKR_SESSION_HANDLE_INVALID`, `CKR_OBJECT_HANDLE_INVALID`.
    func object(
        _ object: CK_OBJECT_HANDLE,
        for session: CK_SESSION_HANDLE
    ) throws(ReturnValue) -> StoredObject {
        try withState { state throws(ReturnValue) in
            try state.check(session)
            return try state.object(object)
        }
    }
}

/// Runs a function of the library that needs it initialised.
func serve(_ body: (Module) throws(ReturnValue) -> Void) -> CK_RV {
    do throws(ReturnValue) {
        guard let module = Module.ofThisProcess else { throw .notInitialized }
        try body(module)
        return CKR_OK
    } catch {
        return error.code
    }
}
