import Foundation
import Testing

@testable import Touchstone

@Suite("Touchstone errors")
struct TouchstoneErrorTests {
    @Test("each code has one row, and each row's numbers map back to a code with the same number")
    func table() {
        let codes = ErrorTable.rows.map(\.code)
        #expect(Set(codes).count == codes.count)
        #expect(codes.count == 53)
        for row in ErrorTable.rows {
            if let number = row.laError {
                let back = TouchstoneError.Code(laError: number)
                #expect(back.map { ErrorTable.row(of: $0).laError } == number, "\(row.code)")
            }
            if let number = row.android {
                let back = TouchstoneError.Code(android: number)
                #expect(back.map { ErrorTable.row(of: $0).android } == number, "\(row.code)")
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

    /// Each code as an error.
    private static let members: [TouchstoneError] = [
        .userCancelled, .fallbackChosen, .systemCancelled, .taskCancelled, .timedOut, .notMatched,
        .lockedOut, .lockedOutUntilPasscode, .interactionNeeded, .noPromptPlace, .proofEnded,
        .throttled, .passcodeNotSet, .noHardware, .hardwareUnavailable, .disconnected,
        .notEnrolled, .sensorTooWeak, .sensorUnsafe, .biometryOff, .notFound, .alreadyExists, .locked,
        .invalidated,
        .deleted, .notYetValid, .expired, .usedUp, .damaged, .ruleMismatch, .typeMismatch, .limitExceeded,
        .updateNeeded,
        .unsupported, .denied, .diskFull, .storeFull, .readOnly, .serviceMissing, .serviceFailed,
        .hardwareTooWeak, .hardwareLockedOut, .hardwareChanged, .unreachable, .untrustedServer,
        .badReply, .refused, .wrongPassword, .deviceRevoked, .signatureRefused, .sessionEnded,
        .stepUpNeeded, .replayed,
    ]

    @Test("each code is an error's name too, in the order of the table, and `catch` and `switch` take it")
    func members() {
        #expect(Self.members.map(\.code) == ErrorTable.rows.map(\.code))
        for error in Self.members { #expect(error.nextStep == ErrorTable.row(of: error.code).nextStep) }
        func read(_ error: TouchstoneError) throws(TouchstoneError) { throw error }
        func caught(_ error: TouchstoneError) -> String {
            do throws(TouchstoneError) {
                try read(error)
                return "none"
            } catch .notFound {
                return "not found"
            } catch .userCancelled, .timedOut {
                return "no answer"
            } catch {
                switch error {
                case .locked: return "locked"
                default: return "\(error.code.rawValue)"
                }
            }
        }
        #expect(caught(.notFound) == "not found")
        // With a cause below it, too.
        #expect(caught(TouchstoneError(.notFound, part: "keybag", cause: "x")) == "not found")
        #expect(caught(.userCancelled) == "no answer" && caught(.timedOut) == "no answer")
        #expect(caught(.locked) == "locked" && caught(.damaged) == "damaged")
        // Thrown as any Error.
        do {
            try { () throws in throw TouchstoneError.notFound }()
        } catch TouchstoneError.notFound {
            return
        } catch {
            Issue.record("\(error)")
        }
        Issue.record("nothing was thrown")
    }

    /// `BiometricPrompt.ERROR_…` and `BiometricManager.BIOMETRIC_…` of androidx.biometric 1.4, with the code of each that has no row of its
    /// own here; 6 is not assigned, 16 to 19 are hidden.
    @Test("every number of Android maps to a code, and back to itself where a code has it")
    func android() {
        let shared: [Int: TouchstoneError.Code] = [22: .fallbackChosen, 20: .unsupported]
        for number in [-2, -1, 1, 2, 3, 4, 5, 7, 8, 9, 10, 11, 12, 13, 14, 15, 20, 21, 22] {
            let code = TouchstoneError.Code(android: number)
            if let other = shared[number] {
                #expect(code == other)
            } else {
                #expect(code.map { ErrorTable.row(of: $0).android } == number, "\(number)")
            }
        }
        for unknown in [0, 6, 16, 19, 23, -3] { #expect(TouchstoneError.Code(android: unknown) == nil) }
    }

    @Test("every LAError code maps to a code, and back to the same number where there is a separate code")
    func laErrors() {
        for number in Array(-14 ... -1) + [-1001, -1004] {
            let code = TouchstoneError.Code(laError: number)
            #expect(code != nil, "\(number)")
            // "Never paired" maps to unplugged; a view of a wrong size does not occur.
            if ![-12, -14].contains(number) {
                #expect(code.flatMap { ErrorTable.row(of: $0).laError } == number, "\(number)")
            }
        }
        #expect(TouchstoneError.Code(laError: 0) == nil)
        #expect(TouchstoneError.Code(laError: -15) == nil)
    }

    @Test("errors with the same code are equal regardless of part and cause")
    func equality() {
        #expect(TouchstoneError(.notFound) == TouchstoneError(.notFound, part: "keybag", cause: "x"))
        #expect(TouchstoneError(.notFound) != TouchstoneError(.invalidated))
        #expect(Set([TouchstoneError(.locked), TouchstoneError(.locked, part: "keybag")]).count == 1)
    }

    @Test("each code has a message and each step an advice, distinct in all four languages")
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

    @Test("a language tag is matched by its first part, and the process's language by POSIX's variable order")
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
}
