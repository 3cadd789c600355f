import KeychainModel
import Testing

@testable import AuthenticationEngine

@Suite("A look at the enrolled fingers that takes longer than the prompt waits for it")
struct LateLookTests {
    @Test(
        "a prompt for either factor waits for the look at the fingers only so long, then takes the passcode at once"
    )
    func lateLook() {
        for requirement in AuthenticationRequirement.allCases {
            var drive = Drive(requirement)
            drive.feed(.started)
            let waits = drive.last.contains(.wait(.seconds(1), number: 0))
            #expect(waits == (requirement == .biometryOrPasscode))
            guard requirement != .passcode else { continue }
            drive.feed(.elapsed(0))
            // Where a finger is needed there is nothing to ask for before the look.
            #expect((drive.shown?.input == .touchOrSecret) == waits)
        }
        var drive = Drive(.biometryOrPasscode)
        drive.feed(.started, .elapsed(0))
        #expect(drive.shown?.error?.contains("has not answered yet") == true)
        drive.feed(.shown(box: 1))
        #expect(drive.last.isEmpty)
        drive.feed(.answered(box: 1, .passcode), .opened)
        #expect(drive.last.last == .succeed([.passcode]))
    }

    @Test(
        "a late look that ends well arms the sensor behind the prompt that is shown, in each state of that prompt"
    )
    func lateLookReady() {
        // The prompt is visible; it becomes so; a wrong passcode replaced it.
        var visible = Drive(.biometryOrPasscode)
        visible.feed(.started, .elapsed(0), .shown(box: 1), .enrolment(.ready))
        #expect(visible.last == [.wait(.milliseconds(500), number: 1), .claimSensor])
        visible.feed(.claimed, .elapsed(1))
        #expect(visible.last.last == .armSensor)
        visible.feed(.verdict(.match), .enrolment(.ready))
        #expect(visible.last.last == .succeed([.biometry]))

        var hidden = Drive(.biometryOrPasscode)
        hidden.feed(.started, .elapsed(0), .enrolment(.ready))
        #expect(hidden.last.isEmpty)
        hidden.feed(.shown(box: 1))
        #expect(hidden.last.contains(.claimSensor))

        for isEarly in [true, false] {
            var wrong = Drive(.biometryOrPasscode)
            wrong.feed(.started, .elapsed(0), .shown(box: 1), .answered(box: 1, .passcode))
            if isEarly { wrong.feed(.enrolment(.ready)) }
            wrong.feed(.wrong)
            #expect(wrong.shown?.input == .touchOrSecret)
            wrong.feed(.shown(box: 2))
            #expect(wrong.last.contains(.claimSensor) == isEarly)
            guard !isEarly else { continue }
            wrong.feed(.enrolment(.ready))
            #expect(wrong.last.contains(.claimSensor))
        }
    }

    @Test("a late look that finds other fingers, or none, arms nothing")
    func lateLookRefused() {
        let none = EnrolmentCheck.failed(AuthenticationError(.biometryNotEnrolled))
        for isVisible in [true, false] {
            var failed = Drive(.biometryOrPasscode)
            failed.feed(.started, .elapsed(0))
            if isVisible { failed.feed(.shown(box: 1)) }
            // The prompt stays: somebody may be typing into it.
            failed.feed(.enrolment(none))
            #expect(failed.last.isEmpty)
            if !isVisible { failed.feed(.shown(box: 1)) }
            #expect(failed.last.isEmpty)
            failed.feed(.answered(box: 1, .passcode), .opened)
            #expect(failed.last.last == .succeed([.passcode]))

            var changed = Drive(.biometryOrPasscode)
            changed.feed(.started, .elapsed(0))
            if isVisible { changed.feed(.shown(box: 1)) }
            changed.feed(.enrolment(.changed))
            #expect(changed.shown?.input == .secret)
        }
        // The event of a change comes before the end of the look, or before the prompt.
        for events in [[SessionEvent.elapsed(0), .enrolmentChanged], [.enrolmentChanged, .elapsed(0)]] {
            var told = Drive(.biometryOrPasscode)
            told.feed(.started)
            for event in events { told.feed(event) }
            #expect(told.shown?.input == .secret)
            told.feed(.shown(box: told.session.boxCount), .enrolment(.ready))
            #expect(told.last.isEmpty)
        }
    }
}
