import LocalAuthentication
import Testing

@Suite("LAError")
struct LAErrorTests {
    private static let codes: [LAError.Code] = [
        .authenticationFailed, .userCancel, .userFallback, .systemCancel, .passcodeNotSet,
        .biometryNotAvailable,
        .biometryNotEnrolled, .biometryLockout, .appCancel, .invalidContext, .companionNotAvailable,
        .biometryNotPaired, .biometryDisconnected, .invalidDimensions, .notInteractive,
    ]

    /// The two types of the same error: Apple's, and Foundation's.
    private static func forms(_ code: LAError.Code) -> [any Error] {
        [LAError(code), NSError(domain: LAErrorDomain, code: code.rawValue)]
    }

    @Test("error codes have Apple's values")
    func numbers() {
        #expect(
            Self.codes.map(\.rawValue) == [
                -1, -2, -3, -4, -5, -6, -7, -8, -9, -10, -11, -12, -13, -14, -1004,
            ]
        )
        #expect(LAError.Code.touchIDNotAvailable == .biometryNotAvailable)
        #expect(LAError.Code.touchIDNotEnrolled == .biometryNotEnrolled)
        #expect(LAError.Code.touchIDLockout == .biometryLockout)
        #expect(LAError.Code.watchNotAvailable == .companionNotAvailable)
        #expect(LAError.touchIDLockout == LAError.biometryLockout)
        #expect(LAError.errorDomain == "com.apple.LocalAuthentication")
    }

    @Test("each type of error is caught by its code", arguments: codes)
    func caughtByReason(code: LAError.Code) {
        for error in Self.forms(code) {
            do {
                throw error
            } catch LAError.userCancel {
                #expect(code == .userCancel)
            } catch LAError.touchIDLockout {
                #expect(code == .biometryLockout)
            } catch let caught as LAError where caught.code == .appCancel {
                #expect(code == .appCancel)
            } catch let caught as LAError {
                #expect(caught.code == code)
                #expect(caught.errorCode == code.rawValue)
            } catch {
                Issue.record("not caught: \(error)")
            }
        }
    }

    @Test("each type of error is caught as an NSError", arguments: codes)
    func caughtAsNSError(code: LAError.Code) {
        for error in Self.forms(code) {
            do {
                throw error
            } catch let caught as NSError {
                #expect(caught.domain == LAErrorDomain)
                #expect(caught.code == code.rawValue)
            }
        }
    }

    @Test("both types cast to each other", arguments: codes)
    func casts(code: LAError.Code) {
        for error in Self.forms(code) {
            #expect((error as? LAError)?.code == code)
            #expect(error is LAError)
            #expect((error as NSError).code == code.rawValue)
            #expect((error as NSError).domain == LAErrorDomain)
            let optional: NSError? = error as NSError
            #expect((optional as? LAError)?.code == code)
            #expect((optional as (any Error)? as? LAError)?.code == code)
            let boxed: Any = error
            #expect((boxed as? LAError)?.code == code)
            #expect((boxed as? NSError)?.code == code.rawValue)
            #expect(LAError(_nsError: error as NSError).code == code)
        }
    }

    @Test("a switch matches both types")
    func switches() {
        for error in Self.forms(.userFallback) {
            switch error {
            case LAError.userCancel: Issue.record("another reason")
            case LAError.userFallback: break
            default: Issue.record("no reason")
            }
        }
        let reason = LAError(.biometryLockout).code
        switch reason {
        case .touchIDLockout: break
        default: Issue.record("the old name is the same reason")
        }
    }

    @Test("an error of another domain does not match")
    func otherDomains() {
        let other: any Error = NSError(domain: NSOSStatusErrorDomain, code: -2)
        #expect(!(other is LAError))
        #expect(other as? LAError == nil)
        switch other {
        case LAError.userCancel: Issue.record("another domain")
        default: break
        }
    }

    @Test("an unknown code is kept")
    func unknownNumbers() {
        let error: any Error = NSError(domain: LAErrorDomain, code: -1020)
        let known = error as? LAError
        #expect(known?.errorCode == -1020)
        #expect((known as NSError?)?.code == -1020)
        for code in Self.codes {
            switch error {
            case code: Issue.record("it is none of the known reasons")
            default: break
            }
        }
    }

    @Test("userInfo is kept")
    func userInfo() {
        let cause = NSError(domain: "net.reactivated.Fprint", code: 3)
        let error = LAError(
            .biometryNotAvailable,
            userInfo: [NSLocalizedDescriptionKey: "no reader", NSUnderlyingErrorKey: cause]
        )
        #expect(error.localizedDescription == "no reader")
        #expect((error as any Error).localizedDescription == "no reader")
        #expect((error as NSError).localizedDescription == "no reader")
        #expect(error.errorUserInfo[NSUnderlyingErrorKey] as? NSError == cause)
        #expect((error as NSError).userInfo[NSUnderlyingErrorKey] as? NSError == cause)
        #expect(error == LAError(_nsError: error as NSError))
        #expect(error != LAError(.biometryNotAvailable))
        #expect(Set([error, error]).count == 1)
    }
}
