import CTSS2
import Glibc
import SecretMemory

/// An object under the storage primary, in its form outside the chip.
struct WrappedObject: Equatable {
    /// The buffer of `TPM2B_PRIVATE`, encrypted by the chip.
    var sensitive: [UInt8]
    /// The marshalled `TPM2B_PUBLIC`.
    var area: [UInt8]
}

extension TPMConnection {
    /// Creates an object under the primary.
    ///
    /// - Parameters:
    ///   - area: its template.
    ///   - authorization: its authorisation value; empty for none.
    ///   - data: the data to seal; empty for a key that the chip generates.
    /// - Returns: the object, in its form outside the chip.
    /// - Throws: ``TPMError``.
    func create(
        _ area: TPM2B_PUBLIC,
        authorization: borrowing SecretBytes,
        data: borrowing SecretBytes
    ) throws(TPMError) -> WrappedObject {
        var area = area
        var sensitive = try Self.sensitive(authorization: authorization, data: data)
        defer { TPM2B.wipe(&sensitive) }
        var outside = TPM2B_DATA()
        var registers = TPML_PCR_SELECTION()
        var privatePart: UnsafeMutablePointer<TPM2B_PRIVATE>?
        var publicPart: UnsafeMutablePointer<TPM2B_PUBLIC>?
        let session = try session([.command, .answer])
        defer { wipeCreated() }
        try send {
            unsafe Esys_Create(
                $0.pointer,
                primary,
                session,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                &sensitive,
                &area,
                &outside,
                &registers,
                &privatePart,
                &publicPart,
                nil,
                nil,
                nil
            )
        }
        defer { unsafe Esys_Free(publicPart) }
        let octets = unsafe TPM2B.take(privatePart)
        guard let publicPart = unsafe publicPart else { throw .damaged }
        return WrappedObject(
            sensitive: octets,
            area: try PublicArea.octets(of: unsafe publicPart.pointee)
        )
    }

    /// The sensitive part of a new object; the caller wipes it.
    static func sensitive(
        authorization: borrowing SecretBytes,
        data: borrowing SecretBytes
    ) throws(TPMError) -> TPM2B_SENSITIVE_CREATE {
        var sensitive = TPM2B_SENSITIVE_CREATE()
        try TPM2B.set(&sensitive.sensitive.userAuth, authorization)
        try TPM2B.set(&sensitive.sensitive.data, data)
        return sensitive
    }

    /// Loads an object for the duration of `body`.
    func withLoaded<R: ~Copyable>(
        _ object: WrappedObject,
        _ body: (ESYS_TR) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        let handle = try load(object)
        defer { flush(handle) }
        return try body(handle)
    }

    private func load(_ object: WrappedObject) throws(TPMError) -> ESYS_TR {
        var area = try PublicArea.read(object.area)
        var sensitive = TPM2B_PRIVATE()
        try TPM2B.set(&sensitive, object.sensitive)
        var handle = ESYS_TR_NONE
        let session = try session()
        try send {
            unsafe Esys_Load(
                $0.pointer,
                primary,
                session,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                &sensitive,
                &area,
                &handle
            )
        }
        return handle
    }

    /// Sets an object's authorisation value in the library for the duration of `body`.
    func withAuthorization<R: ~Copyable>(
        _ value: borrowing SecretBytes,
        of handle: ESYS_TR,
        _ body: () throws(TPMError) -> R
    ) throws(TPMError) -> R {
        var buffer = TPM2B_AUTH()
        defer { TPM2B.wipe(&buffer) }
        try TPM2B.set(&buffer, value)
        try local { unsafe Esys_TR_SetAuth($0.pointer, handle, &buffer) }
        defer { forgetAuthorization(of: handle) }
        return try body()
    }

    /// Overwrites the library's copy of an authorisation value, which it would keep as long as the handle.
    func forgetAuthorization(of handle: ESYS_TR) {
        var none = TPM2B_AUTH()
        try? local { unsafe Esys_TR_SetAuth($0.pointer, handle, &none) }
    }

    /// The data sealed in a loaded object; the session authorises the command and encrypts the response.
    func unseal(_ object: ESYS_TR, _ session: ESYS_TR) throws(TPMError) -> SecretBytes {
        var data: UnsafeMutablePointer<TPM2B_SENSITIVE_DATA>?
        try send { unsafe Esys_Unseal($0.pointer, object, session, ESYS_TR_NONE, ESYS_TR_NONE, &data) }
        wipeAnswer()
        return unsafe TPM2B.takeSecret(data)
    }

    /// Overwrites the decrypted parameter that the library keeps in its buffer until the next command.
    func wipeAnswer() {
        try? local { context in
            var system: OpaquePointer?
            var code = unsafe Esys_GetSysContext(context.pointer, &system)
            guard code == 0 else { return code }
            var count = 0
            var parameter: UnsafePointer<UInt8>?
            code = unsafe Tss2_Sys_GetEncryptParam(system, &count, &parameter)
            guard code == 0 else { return code }
            return unsafe Tss2_Sys_SetEncryptParam(system, count, [UInt8](repeating: 0, count: count))
        }
    }

    /// Overwrites the library's copies of a new object's sensitive part, which it keeps until the next creation.
    ///
    /// The calls copy their arguments before they fail on the unknown parent, and send nothing.
    func wipeCreated() {
        var nothing = TPM2B_SENSITIVE_CREATE()
        var area = TPM2B_PUBLIC()
        var outside = TPM2B_DATA()
        var registers = TPML_PCR_SELECTION()
        let (parent, none) = (Self.noHandle, ESYS_TR_NONE)
        try? local {
            unsafe Esys_Create_Async(
                $0.pointer,
                parent,
                ESYS_TR_PASSWORD,
                none,
                none,
                &nothing,
                &area,
                &outside,
                &registers
            )
        }
        try? local {
            unsafe Esys_CreatePrimary_Async(
                $0.pointer,
                parent,
                ESYS_TR_PASSWORD,
                none,
                none,
                &nothing,
                &area,
                &outside,
                &registers
            )
        }
    }

    /// A handle that the library never assigns: it counts up from its first one.
    private static let noHandle: ESYS_TR = 0x7FFF_FFFF

    /// The template of data that only `policy` releases; without `userWithAuth` there is no other way.
    ///
    /// With `isGuessLimited`, wrong authorisation values count towards the chip's own limit.
    static func sealedData(policy: Policy, isGuessLimited: Bool) throws(TPMError) -> TPM2B_PUBLIC {
        var area = TPM2B_PUBLIC()
        area.publicArea.type = kTPM2_ALG_KEYEDHASH
        area.publicArea.nameAlg = kTPM2_ALG_SHA256
        area.publicArea.objectAttributes = kTPMA_OBJECT_FIXEDTPM | kTPMA_OBJECT_FIXEDPARENT
        if !isGuessLimited { area.publicArea.objectAttributes |= kTPMA_OBJECT_NODA }
        unsafe area.publicArea.parameters.keyedHashDetail.scheme.scheme = kTPM2_ALG_NULL
        try TPM2B.set(&area.publicArea.authPolicy, policy.digest)
        return area
    }
}
