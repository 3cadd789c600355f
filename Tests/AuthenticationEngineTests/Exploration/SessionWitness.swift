import KeychainModel

@testable import AuthenticationEngine

/// The environment of an evaluation as its actions reveal it: the store, the sensor, the keybag, the screen.
///
/// It does not trust the session's own state, and reports the invariant that an action breaks:
///
/// 1. No proof without a verdict of this run: a fingerprint counts after a match of an armed sensor and an
///    enrolment check that began after the match, the passcode after the keybag opened. A fingerprint alone does
///    not count if the passcode is due, the keybag is locked, the passcode was never entered, or the enrolment
///    changed.
/// 2. A count is saved before every arming and every passcode try, one for each; it is refunded only if no
///    touch failed and no passcode was judged.
/// 3. No action follows the end; the end comes only after the sensor's last event and a passcode's verdict.
/// 4. Every prompt is removed: there is at most one, it is the one the session knows, a match removes it, and
///    the sensor is armed only while it is visible.
/// 5. Something is always awaited: the user, the sensor, the keybag, or the enrolment check.
/// 6. A miss is told only for a mismatch or a poor scan, and none after the end (3).
struct SessionWitness: Hashable {
    /// The counts that the store has certainly saved.
    var biometryFailures: Int
    var passcodeFailures: Int
    /// A saved count of a fingerprint attempt whose verdict is pending.
    var isFingerCounted = false
    /// A finger touched the sensor since that count, and its verdict is pending.
    var hadContact = false
    var isScanning = false
    var isClaiming = false
    var isHeld = false
    var isArmed = false
    /// A passcode is being judged.
    var isTrying = false
    /// What was proven in this run.
    var isMatched = false
    var isMatchConfirmed = false
    var isOpened = false
    var sawChange = false
    var sawChangeSinceArming = false
    /// The number of pending enrolment checks, and that number at the time of the match.
    var looks = 0
    var looksBeforeMatch = 0
    /// The current prompt, and whether it is visible.
    var box: Int?
    var isBoxVisible = false
    var isOver = false

    init(_ record: AttemptRecord) {
        biometryFailures = record.biometryFailures
        passcodeFailures = record.passcodeFailures
    }

    // MARK: Events

    /// Records an event before the session handles it.
    mutating func note(_ event: SessionEvent) {
        switch event {
        case .claimed where isClaiming:
            isClaiming = false
            isHeld = true
        case .sensor(.fingerPresent) where isArmed:
            hadContact = true
            isScanning = true
        case .sensor(.retry) where isArmed:
            hadContact = true
            isScanning = false
        case .verdict(let verdict) where isArmed:
            isArmed = false
            isFingerCounted = false
            isMatched = verdict == .match
            looksBeforeMatch = looks
        case .unseenMatch where isArmed:
            // The right finger: the attempt did not fail.
            (isArmed, isHeld, hadContact, isScanning) = (false, false, false, false)
        case .sensorFailed where isArmed || isClaiming:
            if isArmed, isScanning { isFingerCounted = false }
            isArmed = false
            isClaiming = false
            isHeld = false
        case .enrolment(let found) where looks > 0:
            looks -= 1
            // A check that began before the match says nothing about the enrolment after it.
            guard looksBeforeMatch == 0 else {
                looksBeforeMatch -= 1
                return
            }
            isMatchConfirmed = isMatched && found == .ready && !sawChangeSinceArming
        case .enrolmentChanged:
            sawChange = true
            sawChangeSinceArming = true
        case .opened where isTrying:
            isTrying = false
            isOpened = true
        case .wrong where isTrying: isTrying = false
        case .openFailed where isTrying: isTrying = false
        case .shown(let number, _) where number == box: isBoxVisible = true
        case .answered(let number, _) where number == box: box = nil
        default: break
        }
    }

    // MARK: Actions

    /// Performs actions as a runner does; nil if none breaks an invariant.
    ///
    /// - Parameters:
    ///   - actions: the session's actions for `event`.
    ///   - event: the event that they answer.
    ///   - setup: the evaluation's initial state.
    ///   - saves: whether the store saves counts; if not, what follows a count is not performed.
    /// - Returns: the broken invariant's number, and how it is broken.
    mutating func obey(
        _ actions: [SessionAction],
        for event: SessionEvent,
        of setup: SessionSetup,
        saves: Bool
    ) -> String? {
        if isOver, !actions.isEmpty { return "3: an action after the end" }
        for case .succeed(let factors) in actions {
            if let fault = judge(factors, setup) { return fault }
        }
        var isPasscodeCounted = false
        for action in actions {
            if isOver { return "3: an action after the end" }
            switch action {
            case .count(let record):
                if let fault = count(record, &isPasscodeCounted) { return fault }
                if !saves {
                    isFingerCounted = false
                    return nil
                }
            case .tryPasscode:
                guard isPasscodeCounted else { return "2: a passcode is tried that was not counted" }
                guard !isArmed, !isTrying else { return "3: a passcode is tried while something is judged" }
                isTrying = true
            case .claimSensor:
                guard !isClaiming, !isHeld else { return "4: the sensor is claimed twice" }
                isClaiming = true
            case .armSensor:
                guard isFingerCounted else { return "2: the sensor is armed without a count" }
                guard isHeld, !isArmed else { return "4: the sensor is armed twice, or not ours" }
                guard box != nil, isBoxVisible else {
                    return "4: the sensor is armed while no box is visible"
                }
                isArmed = true
                sawChangeSinceArming = false
            case .stopSensor:
                guard isArmed || isClaiming else { return "4: a sensor is stopped that is off" }
            case .show(_, let number):
                guard !isArmed else { return "4: a box is replaced while the sensor is armed" }
                box = number
                isBoxVisible = false
            case .dismissBox: box = nil
            case .relax(let record):
                if let fault = relax(record, event) { return fault }
            case .succeed: isOver = true
            case .fail(let error):
                if isArmed || isTrying || isClaiming { return "3: an end while something is judged" }
                let mayStay = setup.isKeybagUnlocked && error.code == .appCancel
                if case .opened = event, isOpened, !mayStay, !actions.contains(.lockKeybag) {
                    return "3: a keybag stays open that was opened too late"
                }
                isOver = true
            case .checkEnrolment: looks += 1
            case .tellMiss:
                guard case .verdict(.noMatch) = event else {
                    guard case .sensor(.retry) = event else { return "6: a miss that no touch caused" }
                    break
                }
                guard !isMatched else { return "6: a match is told as a miss" }
            case .wait, .lockKeybag, .audit: break
            }
        }
        if isPasscodeCounted, !isTrying { return "2: a passcode is counted and not tried" }
        return nil
    }

    private mutating func count(_ record: AttemptRecord, _ isPasscodeCounted: inout Bool) -> String? {
        let fingers = record.biometryFailures - biometryFailures
        let passcodes = record.passcodeFailures - passcodeFailures
        switch (fingers, passcodes) {
        case (1, 0):
            guard !isArmed else { return "2: a finger is counted once the sensor is armed" }
            isFingerCounted = true
            hadContact = false
            isScanning = false
        case (0, 1): isPasscodeCounted = true
        default: return "2: \(fingers) fingers and \(passcodes) passcodes are counted at once"
        }
        biometryFailures = record.biometryFailures
        passcodeFailures = record.passcodeFailures
        return nil
    }

    private mutating func relax(_ record: AttemptRecord, _ event: SessionEvent) -> String? {
        let fingers = biometryFailures - record.biometryFailures
        let passcodes = passcodeFailures - record.passcodeFailures
        guard fingers >= 0, passcodes >= 0 else { return "2: a milder record is a stricter one" }
        if passcodes > 0, !isOpened {
            guard passcodes == 1, case .openFailed = event else {
                return "2: a passcode is given back that was judged"
            }
        }
        if fingers > 0, !isOpened, !isMatchConfirmed {
            guard fingers == 1, isFingerCounted, !hadContact else {
                return "2: a finger is given back that took part"
            }
            isFingerCounted = false
        }
        if isOpened { isFingerCounted = false }
        biometryFailures = record.biometryFailures
        passcodeFailures = record.passcodeFailures
        return nil
    }

    private func judge(_ factors: Set<AuthenticationFactor>, _ setup: SessionSetup) -> String? {
        if isArmed || isTrying { return "3: an end while something is judged" }
        if factors.contains(.biometry), !isMatchConfirmed { return "1: a proof of a finger without a match" }
        if factors.contains(.passcode), !isOpened { return "1: a proof of a passcode that opened nothing" }
        let isEnough =
            switch setup.requirement {
            case .biometry: factors.contains(.biometry)
            case .passcode: factors.contains(.passcode)
            case .biometryOrPasscode: !factors.isEmpty
            case .biometryAndPasscode: factors == [.biometry, .passcode]
            }
        guard isEnough else { return "1: a proof of less than is needed" }
        guard factors.contains(.passcode) else {
            let mayTouch =
                !sawChange && setup.isKeybagUnlocked && setup.passcodeDue == nil
                && setup.seen.containsAny(of: setup.channels)
            return mayTouch ? nil : "1: a proof of a touch alone where the passcode is due"
        }
        return nil
    }

    /// Compares the session's state with the environment; nil if they agree.
    ///
    /// - Parameter session: the session after its actions were performed.
    /// - Returns: the broken invariant.
    func differences(from session: borrowing AuthenticationSession) -> String? {
        guard !isOver else { return session.isOver ? nil : "3: the machine goes on after its end" }
        if session.box?.number != box { return "4: a box is up that the machine does not know, or none" }
        if isMatched, box != nil, session.check != nil, !sawChange {
            return "4: the box stays after a match"
        }
        if session.check != nil, looks == 0 { return "5: a look is waited for that nobody takes" }
        let waits = box != nil || isArmed || isClaiming || isTrying || session.check != nil
        return waits ? nil : "5: nobody is waited for"
    }
}
