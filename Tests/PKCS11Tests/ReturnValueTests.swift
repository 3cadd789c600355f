import CPKCS11
import KeychainModel
import Testing

@testable import PKCS11Module

@Suite("What a program is told when a request fails")
struct ReturnValueTests {
    private func code(_ error: KeychainError) -> CK_RV { ReturnValue(error).code }

    private func code(_ reason: AuthenticationError.Code) -> CK_RV {
        code(KeychainError(AuthenticationError(reason)))
    }

    @Test("what ended without an answer of the user is refused")
    func refused() {
        let reasons: [AuthenticationError.Code] = [
            .userCancel, .systemCancel, .appCancel, .userFallback, .notInteractive,
        ]
        for reason in reasons { #expect(code(reason) == CKR_FUNCTION_REJECTED, "\(reason)") }
        #expect(code(KeychainError(.interactionNotAllowed, cause: .locked)) == CKR_FUNCTION_REJECTED)
    }

    @Test("locked out, no match and no sensor are failures, and no reason to ask for a PIN")
    func failed() {
        let reasons: [AuthenticationError.Code] = [
            .biometryLockout, .authenticationFailed, .biometryNotAvailable, .biometryNotEnrolled,
            .passcodeNotSet,
        ]
        for reason in reasons { #expect(code(reason) == CKR_FUNCTION_FAILED, "\(reason)") }
    }

    @Test("a key that is gone, one for certain hosts, and a daemon that is away each have their code")
    func others() {
        #expect(code(KeychainError(.itemNotFound, cause: .deleted)) == CKR_KEY_HANDLE_INVALID)
        #expect(code(KeychainError(.itemNotFound, cause: .invalidated)) == CKR_KEY_HANDLE_INVALID)
        #expect(code(KeychainError(.missingEntitlement)) == CKR_KEY_FUNCTION_NOT_PERMITTED)
        #expect(code(KeychainError(.internalComponent)) == CKR_DEVICE_ERROR)
        #expect(code(KeychainError(.notAvailable)) == CKR_DEVICE_ERROR)
        #expect(code(KeychainError(.allocate)) == CKR_HOST_MEMORY)
    }
}
