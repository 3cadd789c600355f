import CPKCS11
import KeychainModel

// Slot and token functions (PKCS #11 2.40, section 5.5).

/// The texts of the token.
private enum TokenText {
    static let label = "Touchstone"
    static let manufacturer = "Touchstone"
    static let model = "P-256"

    /// The user's number: there is one keychain for each user, and the daemon does not tell the store's own number.
    static var serial: String {
        let digits = String(ProcessUser.uid, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

@c @implementation
func C_GetSlotList(
    _ tokenPresent: UInt8,
    _ list: UnsafeMutablePointer<CK_SLOT_ID>?,
    _ count: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.withState { _ in }
        guard unsafe count != nil else { throw .argumentsBad }
        let isListed = tokenPresent == CK_FALSE ? true : try module.isTokenPresent()
        try unsafe write(isListed ? [Module.slot] : [], list, count)
    }
}

@c @implementation
func C_GetSlotInfo(_ slot: CK_SLOT_ID, _ info: UnsafeMutablePointer<CK_SLOT_INFO>?) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.check(slot)
        guard let info = unsafe info else { throw .argumentsBad }
        var answer = CK_SLOT_INFO()
        Padded.write("Keys of this user's keychain", to: &answer.slotDescription)
        Padded.write(TokenText.manufacturer, to: &answer.manufacturerID)
        // The token comes and goes with the daemon.
        answer.flags = CKF_REMOVABLE_DEVICE | (try module.isTokenPresent() ? CKF_TOKEN_PRESENT : 0)
        answer.firmwareVersion = .product
        unsafe info.pointee = answer
    }
}

@c @implementation
func C_GetTokenInfo(_ slot: CK_SLOT_ID, _ info: UnsafeMutablePointer<CK_TOKEN_INFO>?) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.check(slot)
        guard let info = unsafe info else { throw .argumentsBad }
        try module.requireToken()
        var answer = CK_TOKEN_INFO()
        Padded.write(TokenText.label, to: &answer.label)
        Padded.write(TokenText.manufacturer, to: &answer.manufacturerID)
        Padded.write(TokenText.model, to: &answer.model)
        Padded.write(TokenText.serial, to: &answer.serialNumber)
        // No login: each use asks for what its key requires. Keys are made and deleted by the command alone.
        answer.flags =
            CKF_RNG | CKF_WRITE_PROTECTED | CKF_USER_PIN_INITIALIZED | CKF_PROTECTED_AUTHENTICATION_PATH
            | CKF_TOKEN_INITIALIZED
        let (count, countReadWrite) = try module.withState { state in
            (state.sessions.count, state.sessions.values.count(where: \.isReadWrite))
        }
        answer.ulMaxSessionCount = CK_ULONG(Module.mostSessions)
        answer.ulSessionCount = CK_ULONG(count)
        answer.ulMaxRwSessionCount = CK_ULONG(Module.mostSessions)
        answer.ulRwSessionCount = CK_ULONG(countReadWrite)
        answer.ulMaxPinLen = 255
        answer.ulTotalPublicMemory = CK_UNAVAILABLE
        answer.ulFreePublicMemory = CK_UNAVAILABLE
        answer.ulTotalPrivateMemory = CK_UNAVAILABLE
        answer.ulFreePrivateMemory = CK_UNAVAILABLE
        answer.firmwareVersion = .product
        Padded.write("", to: &answer.utcTime)
        unsafe info.pointee = answer
    }
}

/// The mechanisms, with their sizes in bits and what they do.
private let mechanisms: [(type: CK_MECHANISM_TYPE, bits: CK_ULONG, flags: CK_FLAGS)] = {
    let curve = CKF_EC_F_P | CKF_EC_NAMEDCURVE | CKF_EC_UNCOMPRESS
    let signing = [CKM_ECDSA, CKM_ECDSA_SHA1, CKM_ECDSA_SHA256, CKM_ECDSA_SHA384, CKM_ECDSA_SHA512]
    return signing.map { ($0, 256, CKF_SIGN | curve) } + [(CKM_ECDH1_DERIVE, 256, CKF_DERIVE | curve)]
        + [CKM_SHA_1, CKM_SHA256, CKM_SHA384, CKM_SHA512].map { ($0, 0, CKF_DIGEST) }
}()

@c @implementation
func C_GetMechanismList(
    _ slot: CK_SLOT_ID,
    _ list: UnsafeMutablePointer<CK_MECHANISM_TYPE>?,
    _ count: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.check(slot)
        guard unsafe count != nil else { throw .argumentsBad }
        try module.requireToken()
        try unsafe write(mechanisms.map(\.type), list, count)
    }
}

@c @implementation
func C_GetMechanismInfo(
    _ slot: CK_SLOT_ID,
    _ type: CK_MECHANISM_TYPE,
    _ info: UnsafeMutablePointer<CK_MECHANISM_INFO>?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.check(slot)
        guard let info = unsafe info else { throw .argumentsBad }
        try module.requireToken()
        guard let mechanism = mechanisms.first(where: { $0.type == type }) else { throw .mechanismInvalid }
        unsafe info.pointee = CK_MECHANISM_INFO(
            ulMinKeySize: mechanism.bits,
            ulMaxKeySize: mechanism.bits,
            flags: mechanism.flags
        )
    }
}

extension Module {
    /// - Throws: `CKR_SLOT_ID_INVALID`.
    fileprivate func check(_ slot: CK_SLOT_ID) throws(ReturnValue) {
        try withState { _ in }
        guard slot == Self.slot else { throw .slotIDInvalid }
    }
}

/// Writes a list of numbers, or its length alone.
private func write(
    _ numbers: [CK_ULONG],
    _ list: UnsafeMutablePointer<CK_ULONG>?,
    _ count: UnsafeMutablePointer<CK_ULONG>?
) throws(ReturnValue) {
    guard let count = unsafe count else { throw .argumentsBad }
    let given = unsafe count.pointee
    unsafe count.pointee = CK_ULONG(numbers.count)
    guard let list = unsafe list else { return }
    guard given >= CK_ULONG(numbers.count) else { throw .bufferTooSmall }
    for (index, number) in numbers.enumerated() { unsafe list[index] = number }
}
