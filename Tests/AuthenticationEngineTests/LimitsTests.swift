import KeychainModel
import Testing

@testable import AuthenticationEngine

@Suite("The passcode throttle")
struct PasscodeThrottleTests {
    private let start = BootTime(bootID: "one", nanoseconds: 5_000_000_000)

    private func record(_ failures: Int, at time: BootTime? = nil) -> AttemptRecord {
        AttemptRecord(passcodeFailures: failures, lastPasscodeFailure: time ?? start)
    }

    @Test(
        "three wrong passcodes cause no delay, then the delay grows",
        arguments: [
            (0, 0), (1, 0), (2, 0), (3, 0), (4, 60), (5, 300), (6, 900), (7, 3600), (8, 10_800), (9, 28_800),
        ]
    )
    func ladder(_ failures: Int, _ seconds: Int) {
        let throttle = PasscodeThrottle(record(failures))
        guard seconds > 0 else {
            #expect(throttle.verdict(at: start) == .mayTry)
            return
        }
        let delay = Duration.seconds(seconds)
        #expect(throttle.verdict(at: start) == .wait(delay))
        #expect(throttle.verdict(at: start.advanced(by: delay - .milliseconds(1))) == .wait(.milliseconds(1)))
        #expect(throttle.verdict(at: start.advanced(by: delay)) == .mayTry)
    }

    @Test("all delays add up to 12 h 21 min")
    func sum() {
        let sum = PasscodeThrottle.delays.values.reduce(Duration.zero) { $0 + $1 }
        let expected = Duration.seconds(12 * 3600 + 21 * 60)
        #expect(sum == expected)
    }

    @Test("ten or more failures close the keybag for good", arguments: [10, 11, Int.max])
    func tenth(_ failures: Int) {
        let throttle = PasscodeThrottle(record(failures))
        #expect(throttle.verdict(at: start.advanced(by: .seconds(1_000_000))) == .closed)
        #expect(throttle.remaining == 0)
        #expect(throttle.restarted(at: start) == nil)
    }

    @Test("a reboot restarts the whole delay")
    func restart() throws {
        let later = BootTime(bootID: "two", nanoseconds: 9_000_000_000_000_000)
        let throttle = PasscodeThrottle(record(5))
        #expect(throttle.verdict(at: later) == .wait(.seconds(300)))
        let restarted = try #require(throttle.restarted(at: later))
        #expect(restarted.lastPasscodeFailure == later)
        #expect(PasscodeThrottle(restarted).verdict(at: later.advanced(by: .seconds(300))) == .mayTry)
    }

    @Test("a clock that goes back restarts the delay and never shortens it")
    func clockBack() throws {
        let earlier = BootTime(bootID: "one", nanoseconds: 1)
        let throttle = PasscodeThrottle(record(4))
        #expect(throttle.verdict(at: earlier) == .wait(.seconds(60)))
        #expect(try #require(throttle.restarted(at: earlier)).lastPasscodeFailure == earlier)
    }

    @Test("no restart is saved while a delay runs, or without a delay")
    func noRestart() {
        #expect(PasscodeThrottle(record(4)).restarted(at: start.advanced(by: .seconds(1))) == nil)
        #expect(PasscodeThrottle(record(3)).restarted(at: start) == nil)
    }
}

@Suite("Failed fingerprint attempts")
struct BiometryAttemptsTests {
    @Test("the fifth failure locks biometry out")
    func fifth() {
        var record = AttemptRecord()
        for failure in 1...5 {
            #expect(!BiometryAttempts(record).isLockedOut)
            record = BiometryAttempts(record).counted()
            #expect(BiometryAttempts(record).remaining == 5 - failure)
        }
        #expect(BiometryAttempts(record).isLockedOut)
    }

    @Test("a match clears fingerprint failures and keeps passcode failures")
    func match() {
        let now = BootTime(bootID: "one", nanoseconds: 1)
        let record = AttemptRecord(biometryFailures: 4, passcodeFailures: 3)
        let matched = BiometryAttempts(record).matched(at: now)
        #expect(matched == AttemptRecord(passcodeFailures: 3, lastUse: now))
    }

    @Test("negative counts are treated as zero")
    func negative() {
        let record = AttemptRecord(biometryFailures: -7)
        #expect(BiometryAttempts(record).remaining == 5)
        #expect(BiometryAttempts(record).counted().biometryFailures == 1)
        #expect(BiometryAttempts(AttemptRecord()).refunded().biometryFailures == 0)
    }
}

@Suite("The age of the last passcode entry")
struct PasscodeAgeTests {
    private let start = BootTime(bootID: "one", nanoseconds: 0)

    private func isDue(afterPasscode age: Int, afterUse idle: Int) -> Bool {
        let now = start.advanced(by: .seconds(1_000_000))
        let record = AttemptRecord(
            lastPasscodeSuccess: now.advanced(by: .seconds(-age)),
            lastUse: now.advanced(by: .seconds(-idle))
        )
        return PasscodeAge(record).isDue(at: now)
    }

    @Test("the passcode is due after 48 h without use and after 72 h in any case")
    func limits() {
        #expect(!isDue(afterPasscode: 48 * 3600 - 1, afterUse: 48 * 3600 - 1))
        #expect(isDue(afterPasscode: 48 * 3600, afterUse: 48 * 3600))
        #expect(!isDue(afterPasscode: 72 * 3600 - 1, afterUse: 1))
        #expect(isDue(afterPasscode: 72 * 3600, afterUse: 1))
    }

    @Test("the passcode is due if it was never entered, after a reboot, and if the clock went back")
    func never() {
        #expect(PasscodeAge(AttemptRecord()).isDue(at: start))
        let record = AttemptRecord(lastPasscodeSuccess: start.advanced(by: .seconds(5)))
        #expect(PasscodeAge(record).isDue(at: BootTime(bootID: "two", nanoseconds: 9_000_000_000)))
        #expect(PasscodeAge(record).isDue(at: start))
    }
}

@Suite("The prompt queue")
struct PromptQueueTests {
    @Test("one prompt at a time, and a user with many requests does not keep another user out")
    func fair() {
        var queue = PromptQueue()
        #expect(queue.enter(uid: 1, waitingPerUser: 8) == .go)
        #expect(queue.enter(uid: 1, waitingPerUser: 8) == .wait(1))
        #expect(queue.enter(uid: 1, waitingPerUser: 8) == .wait(2))
        #expect(queue.enter(uid: 2, waitingPerUser: 8) == .wait(3))
        #expect(queue.finish() == 3)
        #expect(queue.finish() == 1)
        #expect(queue.finish() == 2)
        #expect(queue.finish() == nil)
        #expect(queue.enter(uid: 1, waitingPerUser: 8) == .go)
    }

    @Test("a request that gave up waiting is skipped and makes room")
    func leaving() {
        var queue = PromptQueue()
        #expect(queue.enter(uid: 1, waitingPerUser: 1) == .go)
        #expect(queue.enter(uid: 1, waitingPerUser: 1) == .wait(1))
        #expect(queue.enter(uid: 1, waitingPerUser: 1) == .refused)
        queue.leave(1)
        #expect(queue.enter(uid: 1, waitingPerUser: 1) == .wait(2))
        #expect(queue.finish() == 2)
    }
}

@Suite("Delays")
struct PauseTests {
    @Test("a failing sensor is not used for 1 s, doubling to 60 s, until it works")
    func backoff() {
        var now = BootTime(bootID: "one", nanoseconds: 0)
        var backoff = SensorBackoff()
        #expect(backoff.remaining(at: now) == .zero)
        for seconds in [1, 2, 4, 8, 16, 32, 60, 60] {
            backoff.failed(at: now)
            #expect(backoff.remaining(at: now) == .seconds(seconds))
            now = now.advanced(by: .seconds(seconds))
            #expect(backoff.remaining(at: now) == .zero)
        }
        backoff.worked()
        backoff.failed(at: now)
        #expect(backoff.remaining(at: now) == .seconds(1))
    }

    @Test("a seventh fruitless prompt within a minute waits until the first is a minute old")
    func rate() {
        let start = BootTime(bootID: "one", nanoseconds: 0)
        var rate = PromptRate()
        func delay(_ seconds: Int, uid: UInt32 = 1) -> Duration? {
            rate.delay(uid: uid, at: start.advanced(by: .seconds(seconds)), limit: 6, period: .seconds(60))
        }
        for second in 0..<6 {
            #expect(delay(second) == nil)
            rate.ended(uid: 1, at: start.advanced(by: .seconds(second)), limit: 6)
        }
        #expect(delay(6) == .seconds(54))
        #expect(delay(6, uid: 2) == nil)
        #expect(delay(60) == nil)
    }
}
