import CPKCS11
import Glibc
import KeychainClient
import KeychainModel

// Session management functions (PKCS #11 2.40, section 5.6).

@c @implementation
func C_OpenSession(
    _ slot: CK_SLOT_ID,
    _ flags: CK_FLAGS,
    _ application: UnsafeMutableRawPointer?,
    _ notify: CK_NOTIFY?,
    _ session: UnsafeMutablePointer<CK_SESSION_HANDLE>?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.withState { _ in }
        guard slot == Module.slot else { throw .slotIDInvalid }
        guard let session = unsafe session else { throw .argumentsBad }
        guard flags & CKF_SERIAL_SESSION != 0 else {
            throw ReturnValue(code: CKR_SESSION_PARALLEL_NOT_SUPPORTED)
        }
        try module.requireToken()
        let handle = Module.nextHandle()
        try module.withState { state throws(ReturnValue) in
            guard state.sessions.count < Module.mostSessions else {
                throw ReturnValue(code: CKR_SESSION_COUNT)
            }
            // A session to read and write is given although nothing can be written: many programs open no other.
            state.sessions[handle] = Session(isReadWrite: flags & CKF_RW_SESSION != 0)
        }
        unsafe session.pointee = handle
    }
}

@c @implementation
func C_CloseSession(_ session: CK_SESSION_HANDLE) -> CK_RV {
    serve { module throws(ReturnValue) in
        let waiting = try module.withState { state throws(ReturnValue) in
            try state.check(session)
            return state.close(session)
        }
        for cancellation in waiting { cancellation.cancel() }
    }
}

@c @implementation
func C_CloseAllSessions(_ slot: CK_SLOT_ID) -> CK_RV {
    serve { module throws(ReturnValue) in
        let waiting = try module.withState { state throws(ReturnValue) in
            guard slot == Module.slot else { throw .slotIDInvalid }
            return state.sessions.keys.flatMap { state.close($0) }
        }
        for cancellation in waiting { cancellation.cancel() }
    }
}

@c @implementation
func C_GetSessionInfo(_ session: CK_SESSION_HANDLE, _ info: UnsafeMutablePointer<CK_SESSION_INFO>?) -> CK_RV {
    serve { module throws(ReturnValue) in
        let (isReadWrite, isLoggedIn) = try module.withState { state throws(ReturnValue) in
            (try state.with(session) { session in session.isReadWrite }, state.isLoggedIn)
        }
        guard let info = unsafe info else { throw .argumentsBad }
        let state =
            switch (isReadWrite, isLoggedIn) {
            case (false, false): CKS_RO_PUBLIC_SESSION
            case (false, true): CKS_RO_USER_FUNCTIONS
            case (true, false): CKS_RW_PUBLIC_SESSION
            case (true, true): CKS_RW_USER_FUNCTIONS
            }
        unsafe info.pointee = CK_SESSION_INFO(
            slotID: Module.slot,
            state: state,
            flags: CKF_SERIAL_SESSION | (isReadWrite ? CKF_RW_SESSION : 0),
            ulDeviceError: 0
        )
    }
}

/// Accepts every login: there is no PIN, and one that a program was given is neither read nor tried as a passcode.
@c @implementation
func C_Login(
    _ session: CK_SESSION_HANDLE,
    _ user: CK_USER_TYPE,
    _ pin: UnsafeMutablePointer<UInt8>?,
    _ pinCount: CK_ULONG
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.withState { state throws(ReturnValue) in
            try state.check(session)
            guard user <= CKU_CONTEXT_SPECIFIC else { throw ReturnValue(code: CKR_USER_TYPE_INVALID) }
            state.isLoggedIn = true
        }
    }
}

@c @implementation
func C_Logout(_ session: CK_SESSION_HANDLE) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.withState { state throws(ReturnValue) in
            try state.check(session)
            state.isLoggedIn = false
        }
    }
}
