import Foundation
import KeychainModel
import Testing

@testable import Touchstone

@Suite("Errors")
struct TouchstoneErrorTests {
    /// The codes that only a server's client gives; no cause of the daemon leads to them.
    private static let ofServers: Set<TouchstoneError.Code> = [
        .unreachable, .untrustedServer, .badReply, .stepUpNeeded, .replayed,
    ]
    /// The codes that this module gives by what it knows itself.
    private static let ofThisModule: Set<TouchstoneError.Code> = [
        .sensorTooWeak, .expired, .ruleMismatch, .hardwareTooWeak,
    ]

    @Test("each code has one row, and each row's numbers lead back to a code of the same numbers")
    func table() {
        let codes = ErrorTable.rows.map(\.code)
        #expect(Set(codes).count == codes.count)
        #expect(codes.count == 44)
        for row in ErrorTable.rows {
            if let number = row.laError {
                let back = TouchstoneError.Code(laError: number)
                #expect(back.map { ErrorTable.row(of: $0).laError } == number, "\(row.code)")
            }
            if let number = row.osStatus {
                #expect(TouchstoneError.Code(osStatus: number) != nil, "\(row.code): \(number)")
            }
        }
        #expect(TouchstoneError(.invalidated).laErrorCode == nil)
        #expect(TouchstoneError(.lockedOut).androidCode == 7)
        #expect(TouchstoneError(.diskFull).osStatus == -34)
        #expect(TouchstoneError(TouchstoneError.Code(rawValue: "ofTheFuture")).osStatus == nil)
    }

    @Test(
        "all numbers of LAError.Code lead to a code, and back to the same number where it has a code of its own"
    )
    func laErrors() {
        for number in Array(-14 ... -1) + [-1001, -1004] {
            let code = TouchstoneError.Code(laError: number)
            #expect(code != nil, "\(number)")
            // Never paired is told as unplugged; a view of a wrong size does not occur.
            if ![-12, -14].contains(number) {
                #expect(code.flatMap { ErrorTable.row(of: $0).laError } == number, "\(number)")
            }
        }
        #expect(TouchstoneError.Code(laError: 0) == nil)
        #expect(TouchstoneError.Code(laError: -15) == nil)
    }

    @Test("all results of BiometricPrompt are the number of some code")
    func android() {
        let numbers = Set(ErrorTable.rows.compactMap(\.android))
        // 6 was never public.
        #expect(numbers.isSuperset(of: [1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, -2]))
    }

    @Test("each known cause of the daemon and the client leads to a code, and each code is led to")
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

    @Test("the more particular word decides, and the remedy is kept")
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
        let stranger = TouchstoneError(KeychainError(Status(rawValue: -9999)))
        #expect(stranger.code == .serviceFailed && stranger.cause == "OSStatus -9999")
        #expect(
            stranger.description == "serviceFailed: The keychain failed. (OSStatus -9999)"
        )
    }

    @Test("two errors of one code are equal, whatever failed below")
    func equality() {
        #expect(TouchstoneError(.notFound) == TouchstoneError(.notFound, part: "keybag", cause: "x"))
        #expect(TouchstoneError(.notFound) != TouchstoneError(.invalidated))
        #expect(Set([TouchstoneError(.locked), TouchstoneError(.locked, part: "keybag")]).count == 1)
    }

    @Test("each code has a message and each step an advice, other ones in each of the four languages")
    func languages() {
        #expect(ErrorTexts.all.map(\.language) == ["en", "tr", "zh", "ja"])
        for texts in ErrorTexts.all {
            #expect(Set(texts.messages.keys) == Set(ErrorTable.rows.map(\.code)), "\(texts.language)")
            #expect(Set(texts.messages.values).count == texts.messages.count, "\(texts.language)")
            #expect(Set(texts.advice.keys) == Set(ErrorTable.steps), "\(texts.language)")
            #expect(texts.messages.values.allSatisfy { !$0.isEmpty })
            #expect(texts.waitSeconds.filter { $0 == "%" }.count == 1)
        }
        for row in ErrorTable.rows {
            let error = TouchstoneError(row.code)
            #expect(Set(ErrorTexts.all.map { error.message(in: $0.language) }).count == 4, "\(row.code)")
            #expect(Set(ErrorTexts.all.map { error.advice(in: $0.language) }).count == 4, "\(row.code)")
        }
        let future = TouchstoneError(TouchstoneError.Code(rawValue: "ofTheFuture"))
        #expect(future.message(in: "de") == "Something went wrong. (ofTheFuture)")
    }

    @Test("a language is known by the first part of its tag; the process's by POSIX's order of variables")
    func tags() {
        let error = TouchstoneError(.userCancelled)
        for tag in ["tr", "tr-TR", "TR_tr.UTF-8", "tr@x"] {
            #expect(error.message(in: tag) == "İptal ettiniz.")
        }
        for tag in ["zh", "zh-Hans-CN", "zh_TW"] { #expect(error.message(in: tag) == "您已取消。") }
        for tag in ["de", "", "C", "C.UTF-8", "english"] {
            #expect(error.message(in: tag) == "You cancelled.")
        }
        #expect(ErrorTexts.processLanguage([:]) == "C")
        #expect(ErrorTexts.processLanguage(["LANG": "ja_JP.UTF-8"]) == "ja_JP.UTF-8")
        #expect(ErrorTexts.processLanguage(["LANG": "ja_JP", "LC_MESSAGES": "tr_TR"]) == "tr_TR")
        #expect(ErrorTexts.processLanguage(["LANG": "ja_JP", "LC_ALL": "", "LC_MESSAGES": "zh"]) == "zh")
        #expect(ErrorTexts.processLanguage(["LANG": "ja_JP", "LC_ALL": "zh_CN"]) == "zh_CN")
    }

    @Test("docs/ERRORS.md is what the tables say; TOUCHSTONE_WRITE_DOCUMENTS=1 writes it")
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
