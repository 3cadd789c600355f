import CPKCS11
import KeychainModel
import SecretMemory

// Key management functions (PKCS #11 2.40, section 5.13), with ECDH (mechanisms, section 2.3.8).

/// Agrees on a secret with another key; the user is asked for what the key requires.
@c @implementation
func C_DeriveKey(
    _ session: CK_SESSION_HANDLE,
    _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?,
    _ baseKey: CK_OBJECT_HANDLE,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG,
    _ key: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.check(session: session)
        guard let mechanism = unsafe mechanism?.pointee, let key = unsafe key else { throw .argumentsBad }
        let point = try unsafe otherPoint(mechanism)
        let wish = try SecretWish(try unsafe Template(attributes, count))
        let baseKey = try module.withState { state throws(ReturnValue) in
            guard state.objects.count < Module.mostObjects else { throw ReturnValue(code: CKR_DEVICE_MEMORY) }
            return try state.privateKey(baseKey)
        }
        let agreed = try module.use(baseKey, .agree(publicKey: point), for: session)
        // The first bytes are left out (mechanisms, section 2.3.8).
        let secret = agreed.withOctets { octets in
            SecretBytes(copying: octets.extracting(last: min(wish.count, octets.count)))
        }
        let object = StoredObject(kind: .secret(SessionSecret(secret, wish)), session: session)
        let handle = Module.nextHandle()
        try module.withState { state throws(ReturnValue) in
            try state.check(session)
            state.objects[handle] = object
        }
        unsafe key.pointee = handle
    }
}

/// The other key, from the parameter of `CKM_ECDH1_DERIVE`.
private func otherPoint(_ mechanism: CK_MECHANISM) throws(ReturnValue) -> [UInt8] {
    guard unsafe mechanism.mechanism == CKM_ECDH1_DERIVE else { throw .mechanismInvalid }
    guard let parameter = unsafe mechanism.pParameter,
        unsafe mechanism.ulParameterLen == CK_ULONG(MemoryLayout<CK_ECDH1_DERIVE_PARAMS>.size)
    else { throw .mechanismParamInvalid }
    let given = unsafe parameter.loadUnaligned(as: CK_ECDH1_DERIVE_PARAMS.self)
    guard unsafe given.kdf == CKD_NULL, unsafe given.ulSharedDataLen == 0 else {
        throw .mechanismParamInvalid
    }
    let octets = try unsafe Input(given.pPublicData, given.ulPublicDataLen, tooLong: .mechanismParamInvalid)
    guard let point = unsafe ECPoint.decoded(Array(octets.octets)) else { throw .mechanismParamInvalid }
    return point
}
