import CTSS2
import Glibc

/// The first argument of the ESYS functions.
@safe
struct ESYSContext {
    /// `ESYS_CONTEXT *`; belongs to the ``TPMConnection`` that lends it.
    fileprivate(set) var pointer: OpaquePointer?
}

/// One ESYS context with its storage primary, which stays loaded until the end, and two sessions.
///
/// Owned by the actor ``TPM``, which lends it on its own thread.
@safe
final class TPMConnection {
    /// `TSS2_TCTI_CONTEXT *`.
    private var transport: OpaquePointer?
    private var context = unsafe ESYSContext(pointer: nil)
    /// How many commands were sent.
    private(set) var commandCount = 0

    /// The storage primary: the same key for as long as the chip is not cleared.
    private(set) var primary = ESYS_TR_NONE
    /// The primary's name (Part 1, 16): it differs for another or a cleared chip.
    private(set) var primaryName: [UInt8] = []
    /// The HMAC session salted to the primary, loaded on first use; see ``session(_:)``.
    var hmacSession = ESYS_TR_NONE
    /// The policy session salted to the primary, likewise; see ``withPolicySession(_:)``.
    var policySession = ESYS_TR_NONE
    /// The result of ``fixedProperties()``.
    private var knownFixedProperties: [TPM2_PT: UInt32] = [:]
    /// The NV indices known to the ESYS context.
    var indices: [TPM2_HANDLE: ESYS_TR] = [:]

    /// Takes over an open transport, and loads the storage primary.
    init(_ configuration: String, _ transport: OpaquePointer?) throws(TPMError) {
        let name = configuration.prefix { $0 != ":" }
        unsafe self.transport = transport
        unsafe AnswerTime.limit(transport, configuration)
        try check(unsafe Esys_Initialize(&context.pointer, transport, nil))
        if Self.transportsWithoutManager.contains(String(name)) { try flushLeftovers() }
        try createPrimary()
    }

    deinit {
        unsafe Esys_Finalize(&context.pointer)
        unsafe AnswerTime.forget(transport)
        unsafe Tss2_TctiLdr_Finalize(&transport)
    }

    /// Flushes the loaded objects and sessions.
    func close() {
        flushSessions()
        if primary != ESYS_TR_NONE { flush(primary) }
        primary = ESYS_TR_NONE
    }

    /// Flushes both sessions; each is started again on its next use.
    func flushSessions() {
        for session in [policySession, hmacSession] where session != ESYS_TR_NONE { flush(session) }
        policySession = ESYS_TR_NONE
        hmacSession = ESYS_TR_NONE
    }

    /// Simulators keep their last client's objects loaded, and serve one client at a time.
    private static let transportsWithoutManager: Set = ["swtpm", "mssim"]
}

// MARK: - Commands

extension TPMConnection {
    /// The waits in milliseconds when the chip asks to retry: ten, each twice as long as the one before.
    private static let waits = (0..<10).map { CInt(1 << $0) }

    /// Sends one command, and retries it while the chip asks for that, for about one second.
    ///
    /// The closure calls one ESYS function that sends one command.
    func send(_ command: (ESYSContext) -> TSS2_RC) throws(TPMError) {
        for wait in Self.waits {
            let code = try sendOnce(command)
            guard let error = code.tpmError, ResponseCode.again.contains(error) else {
                return try check(code.rawValue)
            }
            // The chip has no event for it; this thread has nothing else to do.
            _ = poll(nil, 0, wait)
        }
        try check(try sendOnce(command).rawValue)
    }

    private func sendOnce(_ command: (ESYSContext) -> TSS2_RC) throws(TPMError) -> ResponseCode {
        commandCount += 1
        return ResponseCode(rawValue: command(context))
    }

    /// Calls an ESYS function that sends nothing.
    func local(_ call: (ESYSContext) -> TSS2_RC) throws(TPMError) { try check(call(context)) }

    private func check(_ code: TSS2_RC) throws(TPMError) {
        guard code == 0 else { throw .response(ResponseCode(rawValue: code)) }
    }

    /// Flushes an object or session from the chip; one that cannot be flushed is not loaded.
    func flush(_ handle: ESYS_TR) {
        try? send { unsafe Esys_FlushContext($0.pointer, handle) }
    }

    /// Some of the chip's properties, starting at `first` (`TPM2_CAP_TPM_PROPERTIES`).
    func properties(from first: TPM2_PT, count: UInt32) throws(TPMError) -> [TPM2_PT: UInt32] {
        var values: [TPM2_PT: UInt32] = [:]
        try capability(kTPM2_CAP_TPM_PROPERTIES, first, count) { data in
            let list = unsafe data.data.tpmProperties
            unsafe withUnsafeBytes(of: list.tpmProperty) { octets in
                let properties = unsafe octets.bindMemory(to: TPMS_TAGGED_PROPERTY.self)
                unsafe properties.prefix(Int(list.count)).forEach { values[$0.property] = $0.value }
            }
        }
        return values
    }

    /// The chip's properties that do not change while it runs (`TPM2_PT_FIXED`); queried once.
    func fixedProperties() throws(TPMError) -> [TPM2_PT: UInt32] {
        if knownFixedProperties.isEmpty {
            knownFixedProperties = try properties(from: kTPM2_PT_FIXED, count: 64)
        }
        return knownFixedProperties
    }

    /// More than fit into a response.
    private static let manyHandles: UInt32 = 256

    /// All handles in use of the same kind, starting at `first`; a response has room for 254.
    func handles(from first: TPM2_HANDLE) throws(TPMError) -> [TPM2_HANDLE] {
        var handles: [TPM2_HANDLE] = []
        var start = first
        while true {
            let isMore = try capability(kTPM2_CAP_HANDLES, start, Self.manyHandles) { data in
                let list = unsafe data.data.handles
                unsafe withUnsafeBytes(of: list.handle) { octets in
                    unsafe handles += octets.bindMemory(to: TPM2_HANDLE.self).prefix(Int(list.count))
                }
            }
            guard isMore, let last = handles.last, last >= start else { return handles }
            start = last + 1
        }
    }

    /// The error of a chip in lockout, which judges no passcode; nil if it is in none.
    func lockout() throws(TPMError) -> TPMError? {
        let permanent = try properties(from: kTPM2_PT_PERMANENT, count: 1)[kTPM2_PT_PERMANENT] ?? 0
        guard permanent & kTPMA_PERMANENT_INLOCKOUT != 0 else { return nil }
        let code = ResponseCode(rawValue: ResponseCode.lockout)
        return .lockedOut(code, seconds: Int64(try lockoutInterval()))
    }

    /// The seconds after which the chip forgets one wrong guess (`TPM2_PT_LOCKOUT_INTERVAL`).
    func lockoutInterval() throws(TPMError) -> UInt32 {
        try properties(from: kTPM2_PT_LOCKOUT_INTERVAL, count: 1)[kTPM2_PT_LOCKOUT_INTERVAL] ?? 0
    }

    /// - Returns: whether the chip has more than fit into the response.
    @discardableResult
    private func capability(
        _ capability: TPM2_CAP,
        _ first: UInt32,
        _ count: UInt32,
        _ read: (TPMS_CAPABILITY_DATA) -> Void
    ) throws(TPMError) -> Bool {
        var more: TPMI_YES_NO = 0
        var data: UnsafeMutablePointer<TPMS_CAPABILITY_DATA>?
        try send {
            unsafe Esys_GetCapability(
                $0.pointer,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                capability,
                first,
                count,
                &more,
                &data
            )
        }
        guard let data = unsafe data else { return false }
        defer { unsafe Esys_Free(data) }
        read(unsafe data.pointee)
        return more != 0
    }

    /// Flushes objects and sessions that an earlier client left in a simulator.
    private func flushLeftovers() throws(TPMError) {
        for first in [kTPM2_TRANSIENT_FIRST, kTPM2_LOADED_SESSION_FIRST] {
            for handle in try handles(from: first) {
                var object = ESYS_TR_NONE
                try send {
                    unsafe Esys_TR_FromTPMPublic(
                        $0.pointer,
                        handle,
                        ESYS_TR_NONE,
                        ESYS_TR_NONE,
                        ESYS_TR_NONE,
                        &object
                    )
                }
                flush(object)
            }
        }
    }
}

// MARK: - What stays loaded

extension TPMConnection {
    /// Creates the storage primary again: its seed and the template alone determine it.
    ///
    /// Its template is the one for ECC P-256 of "TCG TPM v2.0 Provisioning Guidance", 7.5.1; it is not subject to the
    /// chip's limit on guesses (`noDA`), so that a chip in lockout can still load objects under it.
    private func createPrimary() throws(TPMError) {
        var template = TPM2B_PUBLIC()
        template.publicArea.type = kTPM2_ALG_ECC
        template.publicArea.nameAlg = kTPM2_ALG_SHA256
        template.publicArea.objectAttributes =
            kTPMA_OBJECT_FIXEDTPM | kTPMA_OBJECT_FIXEDPARENT | kTPMA_OBJECT_SENSITIVEDATAORIGIN
            | kTPMA_OBJECT_USERWITHAUTH | kTPMA_OBJECT_NODA | kTPMA_OBJECT_RESTRICTED
            | kTPMA_OBJECT_DECRYPT
        var parameters = TPMS_ECC_PARMS()
        parameters.symmetric.algorithm = kTPM2_ALG_AES
        unsafe parameters.symmetric.keyBits.aes = 128
        unsafe parameters.symmetric.mode.aes = kTPM2_ALG_CFB
        parameters.scheme.scheme = kTPM2_ALG_NULL
        parameters.curveID = kTPM2_ECC_NIST_P256
        parameters.kdf.scheme = kTPM2_ALG_NULL
        unsafe template.publicArea.parameters.eccDetail = parameters
        var point = TPMS_ECC_POINT()
        try TPM2B.set(&point.x, [UInt8](repeating: 0, count: 32))
        try TPM2B.set(&point.y, [UInt8](repeating: 0, count: 32))
        unsafe template.publicArea.unique.ecc = point
        primary = try createPrimary(ESYS_TR_RH_OWNER, template, TPM2B_SENSITIVE_CREATE(), ESYS_TR_PASSWORD)
        primaryName = try name(of: primary)
    }

    /// Creates and loads a primary object.
    ///
    /// - Throws: ``TPMError/ownerAuthorizationSet`` if the hierarchy has an authorisation.
    func createPrimary(
        _ hierarchy: ESYS_TR,
        _ template: TPM2B_PUBLIC,
        _ sensitive: TPM2B_SENSITIVE_CREATE,
        _ session: ESYS_TR
    ) throws(TPMError) -> ESYS_TR {
        var template = template
        var sensitive = sensitive
        defer { TPM2B.wipe(&sensitive) }
        var outside = TPM2B_DATA()
        var registers = TPML_PCR_SELECTION()
        var handle = ESYS_TR_NONE
        defer { wipeCreated() }
        try asOwner { () throws(TPMError) in
            try send {
                unsafe Esys_CreatePrimary(
                    $0.pointer,
                    hierarchy,
                    session,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    &sensitive,
                    &template,
                    &outside,
                    &registers,
                    &handle,
                    nil,
                    nil,
                    nil,
                    nil
                )
            }
        }
        return handle
    }

    /// Runs commands that need the owner's authorisation, which is empty unless it was set.
    func asOwner(_ body: () throws(TPMError) -> Void) throws(TPMError) {
        do throws(TPMError) {
            try body()
        } catch {
            if error.tpmError == ResponseCode.badAuth { throw .ownerAuthorizationSet }
            throw error
        }
    }

    /// The name of an object or index, as the library knows it.
    func name(of handle: ESYS_TR) throws(TPMError) -> [UInt8] {
        var name: UnsafeMutablePointer<TPM2B_NAME>?
        try local { unsafe Esys_TR_GetName($0.pointer, handle, &name) }
        return unsafe TPM2B.take(name)
    }
}
