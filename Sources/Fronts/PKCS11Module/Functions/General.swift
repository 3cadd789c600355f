import CPKCS11
import KeychainModel

// General purpose functions (PKCS #11 2.40, section 5.4).

@c @implementation
func C_Initialize(_ arguments: UnsafeMutableRawPointer?) -> CK_RV {
    do throws(ReturnValue) {
        if let given = unsafe arguments?.assumingMemoryBound(to: CK_C_INITIALIZE_ARGS.self).pointee {
            try unsafe check(given)
        }
        try Module.initialize()
        return CKR_OK
    } catch {
        return error.code
    }
}

/// Refuses what the library cannot do: it locks by the system's means alone.
private func check(_ arguments: CK_C_INITIALIZE_ARGS) throws(ReturnValue) {
    guard unsafe arguments.pReserved == nil else { throw .argumentsBad }
    let given = unsafe [
        arguments.CreateMutex != nil, arguments.DestroyMutex != nil, arguments.LockMutex != nil,
        arguments.UnlockMutex != nil,
    ]
    guard Set(given).count == 1 else { throw .argumentsBad }
    guard unsafe !given[0] || arguments.flags & CKF_OS_LOCKING_OK != 0 else {
        throw ReturnValue(code: CKR_CANT_LOCK)
    }
}

@c @implementation
func C_Finalize(_ reserved: UnsafeMutableRawPointer?) -> CK_RV {
    serve { module throws(ReturnValue) in
        guard unsafe reserved == nil else { throw .argumentsBad }
        try module.finalize()
    }
}

@c @implementation
func C_GetInfo(_ info: UnsafeMutablePointer<CK_INFO>?) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.withState { _ in }
        guard let info = unsafe info else { throw .argumentsBad }
        var answer = CK_INFO()
        answer.cryptokiVersion = CK_VERSION(major: 2, minor: 40)
        Padded.write("Touchstone", to: &answer.manufacturerID)
        Padded.write("Touchstone's named keys", to: &answer.libraryDescription)
        answer.libraryVersion = .product
        unsafe info.pointee = answer
    }
}

@c @implementation
func C_WaitForSlotEvent(
    _ flags: CK_FLAGS,
    _ slot: UnsafeMutablePointer<CK_SLOT_ID>?,
    _ reserved: UnsafeMutableRawPointer?
) -> CK_RV {
    serve { module throws(ReturnValue) in
        try module.withState { _ in }
        guard unsafe slot != nil && reserved == nil else { throw .argumentsBad }
        // Nothing is watched: waiting would need a thread.
        throw ReturnValue(code: flags & CKF_DONT_BLOCK != 0 ? CKR_NO_EVENT : CKR_FUNCTION_NOT_SUPPORTED)
    }
}

extension CK_VERSION {
    /// The product's version; the third number has no place.
    static let product: CK_VERSION = {
        let parts = ProductVersion.text.split(separator: ".").map { UInt8($0) ?? 0 }
        return CK_VERSION(major: parts.first ?? 0, minor: parts.count > 1 ? parts[1] : 0)
    }()
}

/// Texts of a fixed length, padded with spaces, without a final NUL.
enum Padded {
    static func write<Field>(_ text: String, to field: inout Field) {
        unsafe withUnsafeMutableBytes(of: &field) { room in
            for index in room.indices { unsafe room[index] = UInt8(ascii: " ") }
            unsafe room.copyBytes(from: text.utf8.prefix(room.count))
        }
    }
}
