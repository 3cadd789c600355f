import CPKCS11
import KeychainModel
import SecretMemory

// Message digesting functions (PKCS #11 2.40, section 5.10), and random numbers (section 5.15).

@c @implementation
func C_DigestInit(_ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.with(session) { session throws(ReturnValue) in
            guard session.digest == nil else { throw .operationActive }
            let type = try unsafe plain(mechanism)
            guard [CKM_SHA_1, CKM_SHA256, CKM_SHA384, CKM_SHA512].contains(type), let hash = Hash(type)
            else {
                throw .mechanismInvalid
            }
            session.digest = hash
            session.hasDigestParts = false
        }
    }
}

@c @implementation
func C_Digest(
    _ session: CK_SESSION_HANDLE,
    _ data: UnsafeMutablePointer<UInt8>?,
    _ dataCount: CK_ULONG,
    _ digest: UnsafeMutablePointer<UInt8>?,
    _ digestCount: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try unsafe module.digest(session, Output(digest, digestCount)) { hash, hasParts throws(ReturnValue) in
            guard !hasParts else { throw .operationActive }
            let input = try unsafe Input(data, dataCount)
            unsafe hash.update(input.octets)
        }
    }
}

@c @implementation
func C_DigestUpdate(
    _ session: CK_SESSION_HANDLE,
    _ part: UnsafeMutablePointer<UInt8>?,
    _ partCount: CK_ULONG
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.with(session) { session throws(ReturnValue) in
            guard var hash = session.digest.take() else { throw .operationNotInitialized }
            let input = try unsafe Input(part, partCount)
            unsafe hash.update(input.octets)
            session.digest = hash
            session.hasDigestParts = true
        }
    }
}

@c @implementation
func C_DigestFinal(
    _ session: CK_SESSION_HANDLE,
    _ digest: UnsafeMutablePointer<UInt8>?,
    _ digestCount: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try unsafe module.digest(session, Output(digest, digestCount)) { _, _ throws(ReturnValue) in }
    }
}

@c @implementation
func C_GenerateRandom(
    _ session: CK_SESSION_HANDLE,
    _ random: UnsafeMutablePointer<UInt8>?,
    _ count: CK_ULONG
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.check(session: session)
        guard unsafe random != nil, count <= Module.mostData else { throw .argumentsBad }
        unsafe RandomBytes.fill(UnsafeMutableRawBufferPointer(start: random, count: Int(count)))
    }
}

@c @implementation
func C_SeedRandom(
    _ session: CK_SESSION_HANDLE,
    _ seed: UnsafeMutablePointer<UInt8>?,
    _ count: CK_ULONG
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.check(session: session)
        throw ReturnValue(code: CKR_RANDOM_SEED_NOT_SUPPORTED)
    }
}

extension Module {
    /// Ends a digest that was begun; a call that only asks for the size, or has too little room, leaves it as it is.
    fileprivate func digest(
        _ session: CK_SESSION_HANDLE,
        _ output: @autoclosure () throws(ReturnValue) -> Output,
        _ last: (_ hash: inout Hash, _ hasParts: Bool) throws(ReturnValue) -> Void
    ) throws(ReturnValue) {
        try with(session) { session throws(ReturnValue) in
            guard var hash = session.digest.take() else { throw .operationNotInitialized }
            let output = try output()
            do throws(ReturnValue) {
                if try output.asksForSize(hash.byteCount) {
                    session.digest = hash
                    return
                }
            } catch {
                session.digest = hash
                throw error
            }
            try last(&hash, session.hasDigestParts)
            output.write(hash.finalize().span)
        }
    }
}
