import KeychainModel
import Testing

@testable import AuthenticationEngine

@Suite("The state machine of an evaluation")
struct AuthenticationSessionTests {
    @Test("the order is: check enrolment, show the prompt, claim the sensor while waiting, count, arm")
    func order() {
        var drive = Drive(.biometry)
        drive.feed(.started)
        #expect(drive.last == [.checkEnrolment])
        drive.feed(.enrolment(.ready))
        #expect(drive.shown?.input == .touch)
        drive.feed(.shown(box: 1))
        #expect(drive.last == [.wait(.milliseconds(500), number: 1), .claimSensor])
        drive.feed(.claimed)
        #expect(drive.last == [.count(AttemptRecord(biometryFailures: 1))])
        drive.feed(.elapsed(1))
        #expect(drive.last == [.armSensor])
        drive.feed(.sensor(.armed), .sensor(.fingerPresent), .verdict(.match))
        #expect(drive.last == [.checkEnrolment, .dismissBox])
        drive.feed(.enrolment(.ready))
        #expect(drive.last.last == .succeed([.biometry]))
    }

    @Test("a sensor claimed late is armed late, and not at all once it is no longer wanted")
    func slowSensor() {
        var drive = Drive(.biometryOrPasscode)
        drive.feed(.started, .enrolment(.ready), .shown(box: 1), .elapsed(1))
        #expect(drive.last.isEmpty)
        drive.feed(.claimed)
        #expect(drive.last == [.count(AttemptRecord(biometryFailures: 1)), .armSensor])

        var typed = Drive(.biometryOrPasscode)
        typed.feed(.started, .enrolment(.ready), .shown(box: 1), .answered(box: 1, .passcode))
        #expect(typed.last == [.stopSensor])
        typed.feed(.elapsed(1))
        #expect(typed.last.isEmpty)
        typed.feed(.claimed)
        #expect(typed.last.last == .tryPasscode)
        typed.feed(.wrong, .shown(box: 2))
        // The sensor has been claimed since.
        #expect(typed.last == [.wait(.milliseconds(500), number: 2)])
    }

    @Test("a sensor that cannot be claimed is reported at once, and retried while another program uses it")
    func refusedSensor() {
        var drive = Drive(.biometryOrPasscode)
        drive.feed(.started, .enrolment(.ready), .shown(box: 1))
        drive.feed(.sensorFailed(FingerprintError(.alreadyInUse)))
        #expect(drive.shown?.error == "The sensor is in use.")
        drive.feed(.elapsed(1))
        #expect(drive.last.isEmpty)
        drive.feed(.shown(box: 2))
        #expect(drive.last == [.wait(.seconds(1), number: 2)])
        drive.feed(.elapsed(2))
        #expect(drive.last == [.claimSensor])
        drive.feed(.sensorFailed(FingerprintError(.noSuchDevice)))
        #expect(drive.shown?.input == .secret)
    }

    @Test("after a poor scan a new prompt asks for another touch, and the sensor is claimed again")
    func poorPicture() {
        var drive = Drive(.biometry)
        drive.arm()
        drive.feed(.sensor(.retry("verify-retry-scan")))
        let miss = MissedTouch(count: 1, reason: .unreadable)
        #expect(drive.last == [.tellMiss(miss), .stopSensor])
        drive.feed(.sensorFailed(FingerprintError(.cancelled)))
        #expect(drive.shown?.error == "The finger could not be read. Try again.")
        drive.feed(.shown(box: 2))
        #expect(drive.last == [.wait(.milliseconds(500), number: 2), .claimSensor])
        drive.feed(.claimed, .elapsed(2))
        #expect(drive.last == [.armSensor])
    }

    @Test("a verdict before the sensor is armed, and events of another prompt or wait, are ignored")
    func beforeTime() {
        var drive = Drive(.biometry)
        let early: [SessionEvent] = [
            .verdict(.match), .claimed, .opened, .wrong, .sensor(.fingerPresent), .elapsed(1), .shown(box: 1),
            .answered(box: 1, .passcode), .sensorFailed(FingerprintError(.internal)),
        ]
        drive.feed(.started)
        for event in early {
            drive.feed(event)
            #expect(drive.last.isEmpty)
        }
        drive.feed(.enrolment(.ready), .shown(box: 7))
        #expect(drive.last.isEmpty)
        drive.feed(.shown(box: 1), .elapsed(9))
        #expect(drive.last.isEmpty)
        drive.feed(.verdict(.match))
        #expect(drive.last.isEmpty)
    }

    @Test("events after the end are ignored")
    func afterEnd() {
        var drive = Drive(.biometry)
        drive.arm()
        drive.feed(.answered(box: 1, .cancelled))
        #expect(drive.last == [.stopSensor])
        drive.feed(.sensorFailed(FingerprintError(.cancelled)))
        #expect(drive.end?.code == .userCancel)
        drive.feed(.verdict(.match), .enrolment(.ready), .opened)
        #expect(drive.last.isEmpty)
    }

    @Test("a match after a cancellation does not succeed and does not refund the attempt")
    func matchAfterCancel() {
        var drive = Drive(.biometry)
        drive.arm()
        drive.feed(.interrupted(.appCancelled), .verdict(.match))
        #expect(drive.end?.code == .appCancel)
        #expect(drive.last.count == 2)
        #expect(drive.session.record.biometryFailures == 1)
    }

    @Test("the sensor is stopped before a passcode is counted and tried")
    func passcodeAfterSensor() {
        var drive = Drive(.biometryOrPasscode)
        drive.arm()
        drive.feed(.answered(box: 1, .passcode))
        #expect(drive.last == [.stopSensor])
        drive.feed(.sensorFailed(FingerprintError(.cancelled)))
        let counted = AttemptRecord(biometryFailures: 1, passcodeFailures: 1, lastPasscodeFailure: drive.now)
        #expect(drive.last == [.count(counted), .tryPasscode])
        drive.feed(.opened)
        #expect(drive.last.last == .succeed([.passcode]))
    }

    @Test(
        "after a wrong passcode the sensor is re-armed under the same count, unless a touch was being judged"
    )
    func countOnce() {
        for isScanning in [false, true] {
            var drive = Drive(.biometryOrPasscode)
            drive.arm()
            if isScanning { drive.feed(.sensor(.fingerPresent)) }
            drive.feed(.answered(box: 1, .passcode), .sensorFailed(FingerprintError(.cancelled)), .wrong)
            #expect(drive.shown?.input == .touchOrSecret)
            drive.feed(.shown(box: 2), .claimed)
            let isCounted = drive.last.contains { if case .count = $0 { true } else { false } }
            #expect(isCounted == isScanning)
            drive.feed(.elapsed(2))
            #expect(drive.last.last == .armSensor)
        }
    }

    @Test("the attempt is refunded only if no touch took place")
    func refund() {
        for (events, failures) in [
            ([], 0), ([SessionEvent.sensor(.fingerPresent)], 1), ([.sensor(.retry("verify-retry-scan"))], 1),
        ] {
            var drive = Drive(.biometry)
            drive.arm()
            for event in events { drive.feed(event) }
            drive.feed(.answered(box: 1, .cancelled), .sensorFailed(FingerprintError(.cancelled)))
            #expect(drive.session.record.biometryFailures == failures)
        }
    }

    @Test("an attempt at a sensor in use is not counted twice")
    func inUse() {
        var drive = Drive(.biometry)
        drive.feed(.started, .enrolment(.ready), .shown(box: 1), .elapsed(1), .claimed)
        drive.feed(.sensorFailed(FingerprintError(.alreadyInUse)))
        #expect(drive.shown?.error == "The sensor is in use.")
        drive.feed(.shown(box: 2))
        #expect(drive.last == [.wait(.seconds(1), number: 2)])
        // A failed claim releases the sensor.
        drive.feed(.elapsed(2))
        #expect(drive.last == [.claimSensor])
        drive.feed(.claimed)
        #expect(drive.last == [.armSensor])
        drive.feed(.sensorFailed(FingerprintError(.alreadyInUse)))
        #expect(drive.last == [.wait(.seconds(2), number: 3)])
        for (number, pause) in zip(4..., [4, 8, 16, 32, 60, 60]) {
            drive.feed(.elapsed(number - 1), .sensorFailed(FingerprintError(.alreadyInUse)))
            #expect(drive.last == [.wait(.seconds(pause), number: number)])
        }
        drive.feed(.answered(box: 2, .timedOut))
        #expect(drive.end?.cause == .timeout)
        #expect(drive.session.record.biometryFailures == 0)
    }

    @Test("a count that cannot be saved ends the session without arming or refunding")
    func notSaved() {
        var drive = Drive(.biometryOrPasscode)
        drive.feed(.started, .enrolment(.ready), .shown(box: 1), .elapsed(1), .claimed)
        drive.feed(.notSaved(KeychainError(.io)))
        #expect(drive.end?.cause == .attemptsUnavailable)
        #expect(drive.last.count == 2)
    }

    @Test("a lock during a passcode check ends the session, whatever the verdict")
    func lockWhileTrying() {
        for verdict in [SessionEvent.opened, .wrong, .openFailed(KeychainError(.io))] {
            var drive = Drive(.passcode)
            drive.feed(.started, .shown(box: 1), .answered(box: 1, .passcode), .interrupted(.locked))
            #expect(drive.last.isEmpty)
            drive.feed(verdict)
            #expect(drive.end?.cause == .locked)
            if case .opened = verdict { #expect(drive.last.contains(.lockKeybag)) }
        }
    }

    @Test("an enrolment change during a passcode check leaves only the passcode")
    func changeWhileTrying() {
        var drive = Drive(.biometryOrPasscode)
        drive.arm()
        drive.feed(.answered(box: 1, .passcode), .sensorFailed(FingerprintError(.cancelled)))
        drive.feed(.enrolmentChanged)
        #expect(drive.last.isEmpty)
        drive.feed(.wrong)
        #expect(drive.shown?.input == .secret)
    }

    @Test("fallback leads from a prompt for either factor to one for the passcode")
    func fallback() {
        var drive = Drive(.biometryOrPasscode)
        drive.arm()
        drive.feed(.answered(box: 1, .fallback(0)), .sensorFailed(FingerprintError(.cancelled)))
        #expect(drive.shown?.input == .secret)
        drive.feed(.shown(box: 2))
        #expect(drive.last.isEmpty)
    }

    @Test("a passcode that is due comes before any fingerprint")
    func due() {
        var fingers = Drive(.biometry, due: .passcodeDue)
        fingers.feed(.started, .enrolment(.ready))
        #expect(fingers.end?.cause == .passcodeDue)
        var either = Drive(.biometryOrPasscode, due: .passcodeDue)
        either.feed(.started)
        #expect(either.shown?.input == .secret)
        var both = Drive(.biometryAndPasscode, due: .passcodeDue)
        both.feed(.started, .enrolment(.changed))
        #expect(both.shown?.input == .secret)
    }

    @Test("a closed keybag ends the session before any prompt", arguments: AuthenticationRequirement.allCases)
    func closed(_ requirement: AuthenticationRequirement) {
        var drive = Drive(requirement, record: AttemptRecord(passcodeFailures: 10))
        drive.feed(.started)
        #expect(drive.end?.cause == .closed)
        #expect(drive.end?.remedy == .recover)
    }

    @Test("the fifth interrupted touch causes a biometry lockout like the fifth mismatch")
    func interruptedTouches() {
        var drive = Drive(.biometryOrPasscode, record: AttemptRecord(biometryFailures: 4))
        drive.arm()
        drive.feed(.sensor(.fingerPresent), .answered(box: 1, .samePasscode))
        drive.feed(.sensorFailed(FingerprintError(.cancelled)), .shown(box: 2), .claimed)
        #expect(drive.last.contains(.audit(.biometryLockedOut, [.biometry], "")))
        #expect(drive.shown?.input == .secret)
    }

    @Test("a prompt shown on another channel than the passcode was typed on accepts no touch")
    func drawnElsewhere() {
        for elsewhere in [PromptChannel("a display"), nil] {
            var drive = Drive(.biometryOrPasscode)
            drive.feed(.started, .enrolment(.ready))
            #expect(drive.shown?.input == .touchOrSecret)
            drive.feed(.shown(box: 1, on: elsewhere))
            #expect(drive.shown?.input == .secret)
            #expect(!drive.last.contains(.claimSensor))
            drive.feed(.shown(box: 2, on: elsewhere), .answered(box: 2, .passcode), .opened)
            #expect(drive.last.last == .succeed([.passcode]))
        }
    }

    @Test("after the passcode, a fingerprint prompt on another channel ends the session")
    func fingerElsewhere() {
        var drive = Drive(.biometryAndPasscode, seen: [])
        drive.feed(.started, .enrolment(.ready), .shown(box: 1), .answered(box: 1, .passcode), .opened)
        drive.feed(.enrolment(.ready))
        #expect(drive.shown?.input == .touch)
        drive.feed(.shown(box: 2, on: PromptChannel("a display")))
        #expect(drive.end?.cause == .passcodeDue)
    }
}
