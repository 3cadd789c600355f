import CPKCS11
import KeychainModel

/// A function's result other than `CKR_OK` (PKCS #11 2.40, section 5.1).
struct ReturnValue: Error, Equatable {
    let code: CK_RV

    static let argumentsBad = ReturnValue(code: CKR_ARGUMENTS_BAD)
    static let attributeValueInvalid = ReturnValue(code: CKR_ATTRIBUTE_VALUE_INVALID)
    static let bufferTooSmall = ReturnValue(code: CKR_BUFFER_TOO_SMALL)
    static let dataLenRange = ReturnValue(code: CKR_DATA_LEN_RANGE)
    static let functionRejected = ReturnValue(code: CKR_FUNCTION_REJECTED)
    static let keyHandleInvalid = ReturnValue(code: CKR_KEY_HANDLE_INVALID)
    static let mechanismInvalid = ReturnValue(code: CKR_MECHANISM_INVALID)
    static let mechanismParamInvalid = ReturnValue(code: CKR_MECHANISM_PARAM_INVALID)
    static let notInitialized = ReturnValue(code: CKR_CRYPTOKI_NOT_INITIALIZED)
    static let objectHandleInvalid = ReturnValue(code: CKR_OBJECT_HANDLE_INVALID)
    static let operationActive = ReturnValue(code: CKR_OPERATION_ACTIVE)
    static let operationNotInitialized = ReturnValue(code: CKR_OPERATION_NOT_INITIALIZED)
    static let sessionHandleInvalid = ReturnValue(code: CKR_SESSION_HANDLE_INVALID)
    static let slotIDInvalid = ReturnValue(code: CKR_SLOT_ID_INVALID)
    static let templateInconsistent = ReturnValue(code: CKR_TEMPLATE_INCONSISTENT)
    static let tokenNotPresent = ReturnValue(code: CKR_TOKEN_NOT_PRESENT)
    static let tokenWriteProtected = ReturnValue(code: CKR_TOKEN_WRITE_PROTECTED)

    /// The result for an error of the daemon or the connection.
    ///
    /// Never one about a PIN: programs would then ask for PINs. A refusal by the user, or without one because no prompt can be
    /// shown, is `CKR_FUNCTION_REJECTED`, on which OpenSSL's engine, curl, GnuTLS and NSS fail cleanly.
    init(_ error: KeychainError) {
        code =
            switch error.status {
            case .userCanceled, .interactionNotAllowed: CKR_FUNCTION_REJECTED
            case .authFailed: Self.code(of: error.authentication?.code)
            case .itemNotFound, .decode: CKR_KEY_HANDLE_INVALID
            case .missingEntitlement: CKR_KEY_FUNCTION_NOT_PERMITTED
            case .allocate: CKR_HOST_MEMORY
            case .internalComponent, .notAvailable, .io: CKR_DEVICE_ERROR
            default: CKR_FUNCTION_FAILED
            }
    }

    /// Locked out and failed are no refusals by the user; the rest ended without an answer.
    private static func code(of reason: AuthenticationError.Code?) -> CK_RV {
        switch reason {
        case .systemCancel, .appCancel, .userFallback, .notInteractive: CKR_FUNCTION_REJECTED
        default: CKR_FUNCTION_FAILED
        }
    }

    init(code: CK_RV) { self.code = code }
}
