import Foundation
import KeychainModel
import Testing

@testable import Touchstone

extension TouchstoneErrorTests {
    /// Codes that only a server's client reports; no cause of the daemon maps to them.
    private static let ofServers: Set<TouchstoneError.Code> = [
        .unreachable, .untrustedServer, .badReply, .wrongPassword, .deviceRevoked, .signatureRefused,
        .sessionEnded, .stepUpNeeded, .replayed,
    ]
    /// Codes that this module reports on its own.
    private static let ofThisModule: Set<TouchstoneError.Code> = [
        .sensorTooWeak, .expired, .ruleMismatch, .hardwareTooWeak,
    ]

    @Test("each known cause maps to a code, and each code is mapped to")
    func causes() {
        var reached = Self.ofServers.union(Self.ofThisModule)
        for known in KnownCause.allCases {
            let error = TouchstoneError(
                KeychainError(.internalComponent, cause: DriverCause(known, detail: "why"))
            )
            #expect(error.code == TouchstoneError.Code(known))
            #expect(ErrorTable.rows.contains { $0.code == error.code }, "\(known)")
            #expect(error.details == ["why"] && error.part != nil && error.cause?.contains("why") == true)
            reached.insert(error.code)
        }
        for word in ErrorDocument.fprintd {
            let error = TouchstoneError(
                AuthenticationError(
                    .biometryNotAvailable,
                    cause: DriverCause(domain: "fprintd", code: word)
                )
            )
            #expect(error.part == "fprintd" && error.cause == word)
            #expect(TouchstoneError.Code(fprintd: word) == error.code, "\(word)")
            reached.insert(error.code)
        }
        for number in -14 ... -1 { _ = TouchstoneError.Code(laError: number).map { reached.insert($0) } }
        for status in Self.statuses {
            let code = TouchstoneError(KeychainError(status)).code
            #expect(code == TouchstoneError.Code(osStatus: Int(status.rawValue)), "\(status)")
            reached.insert(code)
        }
        #expect(Set(ErrorTable.rows.map(\.code)).subtracting(reached).isEmpty)
    }

    private static let statuses: [Status] = [
        .unimplemented, .diskFull, .io, .param, .allocate, .userCanceled, .badReq, .internalComponent,
        .notAvailable, .readOnly, .authFailed, .duplicateItem, .itemNotFound, .dataTooLarge, .noSuchAttr,
        .noSuchClass, .interactionNotAllowed, .interactionRequired, .decode, .missingEntitlement,
    ]

    @Test("the more specific cause decides, and the remedy is kept")
    func particular() {
        let locked = KeychainError(.interactionNotAllowed, cause: .locked, remedy: .unlock)
        #expect(TouchstoneError(locked).code == .locked)
        let invalidated = KeychainError(.itemNotFound, cause: .invalidated)
        #expect(TouchstoneError(invalidated).code == .invalidated)
        #expect(TouchstoneError(KeychainError(.itemNotFound)).code == .notFound)
        let waits = TouchstoneError(AuthenticationError(.authenticationFailed, remedy: .wait(seconds: 30)))
        #expect(waits.code == .notMatched && waits.nextStep == .wait && waits.retryAfter == .seconds(30))
        #expect(waits.advice(in: "en") == "Wait 30 seconds, then try again.")
        let full = AuthenticationError(.systemCancel, cause: DriverCause(domain: "system", code: "ENOSPC"))
        #expect(TouchstoneError(full).code == .diskFull)
        #expect(
            TouchstoneError(KeychainError(.readOnly, cause: DriverCause(domain: "sqlite", code: "264"))).code
                == .readOnly
        )
        let closed = TouchstoneError(AuthenticationError(.biometryLockout, cause: .closed))
        #expect(closed.code == .lockedOut && closed.nextStep == .recover)
        let away = TouchstoneError(
            KeychainError(.notAvailable, cause: DriverCause(.brokerAway, detail: "why"), remedy: .check)
        )
        #expect(away.code == .serviceFailed && away.part == "broker" && away.cause == "away: why")
        #expect(away.nextStep == .askForHelp)
        let stranger = TouchstoneError(KeychainError(Status(rawValue: -9999)))
        #expect(stranger.code == .serviceFailed && stranger.cause == "OSStatus -9999")
        #expect(
            stranger.description == "serviceFailed: The keychain failed. (OSStatus -9999)"
        )
    }

    @Test("docs/ERRORS.md matches the tables; TOUCHSTONE_WRITE_DOCUMENTS=1 writes it")
    func document() throws {
        let path = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("docs/ERRORS.md")
        if ProcessInfo.processInfo.environment["TOUCHSTONE_WRITE_DOCUMENTS"] == "1" {
            try ErrorDocument.text.write(to: path, atomically: true, encoding: .utf8)
        }
        let written = try String(contentsOf: path, encoding: .utf8)
        #expect(
            written == ErrorDocument.text,
            "TOUCHSTONE_WRITE_DOCUMENTS=1 swift test --filter TouchstoneErrorTests"
        )
    }
}
