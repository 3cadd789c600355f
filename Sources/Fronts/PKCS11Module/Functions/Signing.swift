import CPKCS11
import KeychainModel
import SecretMemory

// Signing functions (PKCS #11 2.40, section 5.11), with ECDSA (mechanisms, section 2.3.6).

/// The length of a signature, r and s of 32 bytes each.
private let signatureCount = 64
/// The length of what the key signs, in bytes.
private let digestCount = 32

/// Begins a signature; asks for nothing.
@c @implementation
func C_SignInit(
    _ session: CK_SESSION_HANDLE,
    _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?,
    _ key: CK_OBJECT_HANDLE
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.withState { state throws(ReturnValue) in
            try state.with(session) { session throws(ReturnValue) in
                guard case .none = session.signing else { throw .operationActive }
            }
            let mechanism = try unsafe plain(mechanism)
            let hash = Hash(mechanism)
            let signsDigest = mechanism == CKM_ECDSA
            let hashes = [CKM_ECDSA_SHA1, CKM_ECDSA_SHA256, CKM_ECDSA_SHA384, CKM_ECDSA_SHA512].contains(
                mechanism
            )
            guard signsDigest || hashes else { throw .mechanismInvalid }
            let key = try state.privateKey(key)
            try state.with(session) { session in
                session.signing = .begun(Session.Signing(key: key, hash: hash))
            }
        }
    }
}

/// The type of a mechanism that takes no parameter.
func plain(_ mechanism: UnsafeMutablePointer<CK_MECHANISM>?) throws(ReturnValue) -> CK_MECHANISM_TYPE {
    guard let mechanism = unsafe mechanism?.pointee else { throw .argumentsBad }
    guard unsafe mechanism.pParameter == nil, unsafe mechanism.ulParameterLen == 0 else {
        throw .mechanismParamInvalid
    }
    return unsafe mechanism.mechanism
}

/// Signs in one part; with a place for the signature, the user is asked for what the key requires.
@c @implementation
func C_Sign(
    _ session: CK_SESSION_HANDLE,
    _ data: UnsafeMutablePointer<UInt8>?,
    _ dataCount: CK_ULONG,
    _ signature: UnsafeMutablePointer<UInt8>?,
    _ signatureCount: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try unsafe module.sign(session, Output(signature, signatureCount)) { signing throws(ReturnValue) in
            guard !signing.hasParts else { throw .operationActive }
            let input = try unsafe Input(data, dataCount)
            guard var hash = signing.hash else { return try unsafe digest(given: Array(input.octets)) }
            unsafe hash.update(input.octets)
            return hash.finalize()
        }
    }
}

@c @implementation
func C_SignUpdate(
    _ session: CK_SESSION_HANDLE,
    _ part: UnsafeMutablePointer<UInt8>?,
    _ partCount: CK_ULONG
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.with(session) { session throws(ReturnValue) in
            var signing = try session.begun
            // Any fault here ends the signature (section 5.11).
            session.signing = .none
            guard signing.hash != nil else { throw ReturnValue(code: CKR_FUNCTION_NOT_SUPPORTED) }
            let input = try unsafe Input(part, partCount)
            unsafe signing.hash?.update(input.octets)
            signing.hasParts = true
            session.signing = .begun(signing)
        }
    }
}

/// Signs the parts given so far; with a place for the signature, the user is asked for what the key requires.
@c @implementation
func C_SignFinal(
    _ session: CK_SESSION_HANDLE,
    _ signature: UnsafeMutablePointer<UInt8>?,
    _ signatureCount: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try unsafe module.sign(session, Output(signature, signatureCount)) { signing throws(ReturnValue) in
            guard let hash = signing.hash else { throw ReturnValue(code: CKR_FUNCTION_NOT_SUPPORTED) }
            return hash.finalize()
        }
    }
}

/// Data that a program has hashed itself: of any length, and the first 32 bytes count, as the standard says for the curve.
private func digest(given data: [UInt8]) throws(ReturnValue) -> [UInt8] {
    guard !data.isEmpty else { throw .dataLenRange }
    return data
}

/// A digest as the number of 32 bytes that the curve signs: a longer one by its first bytes, a shorter one after zeros.
private func number(of digest: [UInt8]) -> [UInt8] {
    [UInt8](repeating: 0, count: max(0, digestCount - digest.count)) + digest.prefix(digestCount)
}

extension Module {
    /// Ends a signature that was begun; a call that only asks for the size, or has too little room, leaves it as it is.
    fileprivate func sign(
        _ session: CK_SESSION_HANDLE,
        _ output: @autoclosure () throws(ReturnValue) -> Output,
        _ digest: (Session.Signing) throws(ReturnValue) -> [UInt8]
    ) throws(ReturnValue) {
        let begun = try with(session) { session throws(ReturnValue) in
            try session.end(try output())
        }
        guard let (signing, output) = begun else { return }
        defer {
            // The session, or the library, may have been closed meanwhile.
            try? with(session) { session in session.signing = .none }
        }
        let made = try use(signing.key, .sign(digest: number(of: try digest(signing))), for: session)
        made.withOctets { output.write($0) }
    }
}

extension Session {
    /// Takes the signature that was begun, whose last call is now in progress; nil if the call only asked for the size.
    fileprivate mutating func end(
        _ output: @autoclosure () throws(ReturnValue) -> Output
    ) throws(ReturnValue) -> (Signing, Output)? {
        let begun = try begun
        signing = .none
        let output = try output()
        do throws(ReturnValue) {
            if try output.asksForSize(signatureCount) {
                signing = .begun(begun)
                return nil
            }
        } catch {
            // The only fault that does not end the signature.
            signing = .begun(begun)
            throw error
        }
        signing = .waiting
        return (begun, output)
    }
}
