// Written by Scripts/surface.swift; changes are lost.
// swift-format-ignore-file

import Foundation
import LocalAuthentication
import Testing

@Suite("The surface of LAError")
struct LAErrorSurfaceTests {
    @Test("has Apple's names, types and values")
    func names() {
        let _: (LAError) -> any Error = { $0 }
        let _: (LAError) -> NSError = { $0 as NSError }
        isRawRepresentable(LAError.Code.self, by: Int.self)
        let _: KeyPath<LAError, LAError.Code> = \.code
        #expect(LAError.errorDomain == "com.apple.LocalAuthentication")
        let _: KeyPath<LAError, [String: Any]> = \.errorUserInfo
        let _: KeyPath<LAError, Int> = \.errorCode
        let _: KeyPath<LAError, String> = \.localizedDescription
        let _: LAError = LAError(.userCancel)
        let _: LAError = LAError(.userCancel, userInfo: [:])
        let _: (NSError) -> LAError = LAError.init(_nsError:)
        let _: (any Error) -> Bool = { LAError.userCancel ~= $0 }
        #expect(LAErrorDomain == "com.apple.LocalAuthentication")
        #expect(LAError.Code.authenticationFailed.rawValue == -1)
        let _: () -> LAError.Code = { LAError.authenticationFailed }
        #expect(LAError.Code.userCancel.rawValue == -2)
        let _: () -> LAError.Code = { LAError.userCancel }
        #expect(LAError.Code.userFallback.rawValue == -3)
        let _: () -> LAError.Code = { LAError.userFallback }
        #expect(LAError.Code.systemCancel.rawValue == -4)
        let _: () -> LAError.Code = { LAError.systemCancel }
        #expect(LAError.Code.passcodeNotSet.rawValue == -5)
        let _: () -> LAError.Code = { LAError.passcodeNotSet }
        #expect(LAError.Code.biometryNotAvailable.rawValue == -6)
        let _: () -> LAError.Code = { LAError.biometryNotAvailable }
        #expect(LAError.Code.biometryNotEnrolled.rawValue == -7)
        let _: () -> LAError.Code = { LAError.biometryNotEnrolled }
        #expect(LAError.Code.biometryLockout.rawValue == -8)
        let _: () -> LAError.Code = { LAError.biometryLockout }
        #expect(LAError.Code.appCancel.rawValue == -9)
        let _: () -> LAError.Code = { LAError.appCancel }
        #expect(LAError.Code.invalidContext.rawValue == -10)
        let _: () -> LAError.Code = { LAError.invalidContext }
        #expect(LAError.Code.companionNotAvailable.rawValue == -11)
        let _: () -> LAError.Code = { LAError.companionNotAvailable }
        #expect(LAError.Code.watchNotAvailable.rawValue == -11)
        let _: () -> LAError.Code = { LAError.watchNotAvailable }
        #expect(LAError.Code.biometryNotPaired.rawValue == -12)
        let _: () -> LAError.Code = { LAError.biometryNotPaired }
        #expect(LAError.Code.biometryDisconnected.rawValue == -13)
        let _: () -> LAError.Code = { LAError.biometryDisconnected }
        #expect(LAError.Code.notInteractive.rawValue == -1004)
        let _: () -> LAError.Code = { LAError.notInteractive }
        #expect(LAError.Code.touchIDNotAvailable.rawValue == -6)
        let _: () -> LAError.Code = { LAError.touchIDNotAvailable }
        #expect(LAError.Code.touchIDNotEnrolled.rawValue == -7)
        let _: () -> LAError.Code = { LAError.touchIDNotEnrolled }
        #expect(LAError.Code.touchIDLockout.rawValue == -8)
        let _: () -> LAError.Code = { LAError.touchIDLockout }
    }
}
