import KeychainModel
import Testing
import TouchstoneTesting

@testable import AuthenticationEngine

@Suite(
    "Model checking of the evaluation's state machine",
    .timeLimit(.minutes(CaseSize.of(20, full: 90)))
)
struct SessionExplorationTests {
    /// The initial states of an evaluation.
    private static func setups(_ requirement: AuthenticationRequirement) -> [SessionSetup] {
        guard let group = AccessGroup("tests") else { fatalError("a group has a name") }
        let caller = Caller(uid: 1, pid: 2, processStart: 3, program: nil, accessGroup: group)
        var configuration = AuthenticationConfiguration()
        configuration.retryScans = 2
        var setups: [SessionSetup] = []
        // Two attempts before the biometry lockout, one passcode before a delay and two before the end; and
        // locked out.
        for (fingers, passcodes) in CaseSize.of([(3, 8)], full: [(3, 8), (5, 8)]) {
            for isUnlocked in [true, false] {
                for seen in [[SessionState.here], []] {
                    for due in CaseSize.of([nil], full: [nil, DriverCause.passcodeDue]) {
                        var setup = SessionSetup(
                            requirement: requirement,
                            record: AttemptRecord(
                                biometryFailures: fingers,
                                passcodeFailures: passcodes,
                                lastPasscodeFailure: BootTime(bootID: "one", nanoseconds: 0)
                            ),
                            isKeybagUnlocked: isUnlocked,
                            passcodeDue: due,
                            seen: SeenChannels(seen),
                            channels: [SessionState.here],
                            request: PromptRequest(caller: caller, origin: PromptOrigin())
                        )
                        setup.configuration = configuration
                        setups.append(setup)
                    }
                }
            }
        }
        return setups
    }

    /// The results from all initial states, up to the first fault.
    private struct Exploration: Sendable {
        private(set) var states = 0
        private(set) var steps = 0
        private(set) var depth = 0
        /// The initial states from which every reachable state was visited.
        private(set) var whole = 0
        private(set) var ends: Set<String> = []
        private(set) var fault: String?

        init(of setups: [SessionSetup], to limit: Int) {
            for setup in setups {
                var explorer = SessionExplorer(setup)
                explorer.explore(to: limit)
                fault = explorer.fault
                guard fault == nil else { return }
                states += explorer.stateCount
                steps += explorer.stepCount
                depth = max(depth, explorer.depth)
                whole += explorer.isWhole ? 1 : 0
                ends.formUnion(explorer.ends)
            }
        }
    }

    @Test(
        "no sequence of prompt, sensor, keybag and store events breaks an invariant",
        arguments: AuthenticationRequirement.allCases
    )
    func invariants(requirement: AuthenticationRequirement) async throws {
        // On its own thread: at full size this computes for minutes, and the other tests need the pool's
        // threads.
        let setups = Self.setups(requirement)
        let exploring = BlockingCall { Exploration(of: setups, to: CaseSize.of(10, full: 16)) }
        let found = try await exploring.value
        #expect(found.fault == nil)
        print(
            "\(requirement): \(found.states) states from \(setups.count) starts, \(found.steps) steps,",
            "to a depth of \(found.depth), \(found.whole) of them whole; ends: \(found.ends.sorted())"
        )
        // The visited ends include a cancelling user, a vanished app, a sleep, a lock, and the tenth wrong
        // passcode.
        #expect(found.ends.isSuperset(of: ["-2 ", "-9 ", "-4 suspended", "-4 locked", "-1 closed"]))
        if requirement == .biometry {
            #expect(found.ends.isSuperset(of: ["-8 ", "-8 enrolmentChanged", "biometry"]))
        }
    }

    @Test("a copied session behaves like the original in every state", arguments: 0..<4)
    func copies(kind: Int) throws {
        let requirement = AuthenticationRequirement.allCases[kind]
        var random = UInt64(kind) + 1
        for setup in Self.setups(requirement) {
            for _ in 0..<100 {
                var session = AuthenticationSession(setup)
                var now = BootTime(bootID: "one", nanoseconds: 86_400_000_000_000)
                var event = SessionEvent.started
                for _ in 0..<40 {
                    var copy = session.copy()
                    let actions = session.handle(event, at: now)
                    #expect(copy.handle(event, at: now) == actions)
                    // Continue with the copy, so that state lost by copying shows later.
                    session = copy.copy()
                    random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    let events = SessionExplorer.events(session.boxCount, session.waitCount)
                    event = events[Int((random >> 33) % UInt64(events.count))]
                    if random >> 60 == 0 { now = now.advanced(by: .seconds(86_400)) }
                }
            }
        }
    }

    // MARK: Regressions that the exploration found

    private static func session(_ requirement: AuthenticationRequirement) -> AuthenticationSession {
        AuthenticationSession(setups(requirement)[0])
    }

    private static let now = BootTime(bootID: "one", nanoseconds: 86_400_000_000_000)

    @Test("missing hardware refunds a passcode attempt and the fingerprint attempt with it")
    func bothGivenBack() {
        var session = Self.session(.biometryOrPasscode)
        let events: [SessionEvent] = [
            .started, .enrolment(.ready), .shown(box: 1, on: SessionState.here), .claimed,
            .answered(box: 1, .passcode),
        ]
        for event in events { _ = session.handle(event, at: Self.now) }
        let missing = KeychainError(.notAvailable, cause: .missingHardware)
        let records = session.handle(.openFailed(missing), at: Self.now).compactMap { action in
            if case .relax(let record) = action { record } else { nil }
        }
        #expect(records.last?.passcodeFailures == 8)
        #expect(records.last?.biometryFailures == 3)
    }

    @Test(
        "a match alone does not succeed after an enrolment change, whatever an earlier check reported",
        arguments: 0..<3
    )
    func changeDuringLook(kind: Int) {
        var session = Self.session(.biometryOrPasscode)
        let start: [SessionEvent] = [.started, .enrolment(.ready)]
        let armed: [SessionEvent] = [.shown(box: 1, on: SessionState.here), .elapsed(1), .claimed]
        let cases: [[SessionEvent]] = [
            [.started, .enrolmentChanged, .enrolment(.ready)] + armed + [
                .verdict(.match), .enrolment(.ready),
            ],
            start + armed + [.verdict(.match), .enrolmentChanged, .enrolment(.ready)],
            start + armed + [.enrolmentChanged, .verdict(.match), .enrolment(.ready)],
        ]
        var actions: [SessionAction] = []
        for event in cases[kind] { actions += session.handle(event, at: Self.now) }
        #expect(!actions.contains { if case .succeed = $0 { true } else { false } })
        let (stage, isOver) = (session.stage, session.isOver)
        #expect(stage == .passcode)
        #expect(!isOver)
    }

    @Test("a touch lost with the sensor is counted even if the sensor never reported that it was armed")
    func touchBeforeArmed() {
        var session = Self.session(.biometry)
        let events: [SessionEvent] = [
            .started, .enrolment(.ready), .shown(box: 1, on: SessionState.here), .elapsed(1), .claimed,
            .sensor(.fingerPresent), .sensorFailed(FingerprintError(.alreadyInUse)),
        ]
        for event in events { _ = session.handle(event, at: Self.now) }
        let (record, isOver) = (session.record, session.isOver)
        #expect(record.biometryFailures == 4)
        #expect(isOver)
    }
}
