import Glibc
import Testing
import Touchstone
import TouchstoneTesting

@Suite("What asking would come to", .timeLimit(.minutes(20)))
struct CapabilityTests {
    @Test("a sensor with a finger: nothing is in the way, and the sensor says what is known of it")
    func ready() async throws {
        let world = try await World.withFinger()
        try await world.use {
            let now = try await Keychain.current.capability()
            #expect(now.obstacle == nil, "\(String(describing: now.obstacle))")
            let sensor = try #require(now.sensor)
            #expect(sensor.name == (World.tellsOfSensor ? "Scripted sensor" : "Touch ID"))
            #expect(sensor.modality == .fingerprint)
            #expect(sensor.enrolledCount == (World.tellsOfSensor ? 1 : nil))
            #expect(sensor.strength == [.strongBiometry, .weakBiometry])
            #expect(sensor.evidence["grade"] == "ungraded")
            let state = try #require(now.enrolmentState)
            try await world.enrol(["right-index-finger", "left-thumb"])
            // The change is told on a connection of its own.
            let later = try await Deadline.wait(for: "two fingers") { () -> Capability? in
                let now = try await Keychain.current.capability()
                return now.enrolmentState != state && (!World.tellsOfSensor || now.sensor?.enrolledCount == 2)
                    ? now : nil
            }
            #expect(later.enrolmentState != nil && later.enrolmentState != state)
        }
        #expect(world.prompts == 0)
    }

    @Test("an obstacle is what asking throws, in each state; the sensor is told all the same")
    func obstacles() async throws {
        let demands: [Authenticators] = [
            .strongBiometry, .weakBiometry, .passcode, [.strongBiometry, .passcode],
        ]
        /// What asking for each demand comes to; nil: it can be asked.
        func check(
            _ world: World,
            _ state: String,
            _ expected: [TouchstoneError.Code?],
            hasSensor: Bool
        ) async throws {
            try await world.use {
                // fprintd does not tell of a sensor that goes: answers of before hold until the daemon has looked.
                try await Deadline.wait(for: state) { () -> Bool? in
                    for (demand, code) in zip(demands, expected) {
                        let now = try await Keychain.current.capability(for: demand)
                        guard now.obstacle?.code == code, (now.sensor != nil) == hasSensor else { return nil }
                    }
                    return true
                }
                for (demand, code) in zip(demands, expected) {
                    let now = try await Keychain.current.capability(for: demand)
                    #expect(
                        now.obstacle?.code == code,
                        "\(state), \(demand.rawValue): \(String(describing: now))"
                    )
                    #expect((now.sensor != nil) == hasSensor, "\(state), \(demand.rawValue)")
                    guard let code else { continue }
                    let error = await failure { () throws(TouchstoneError) in
                        try await Keychain.current.authenticate("a test", using: demand)
                    }
                    #expect(
                        error?.code == code,
                        "asking: \(state), \(demand.rawValue): \(String(describing: error))"
                    )
                }
            }
        }
        let bare = try await World()
        let missing = World.codeWithoutService
        try await check(bare, "no fprintd", [missing, missing, nil, nil], hasSensor: false)
        let world = try await World.withFinger()
        try await check(world, "ready", [nil, nil, nil, nil], hasSensor: true)
        world.fprintd?.change { $0.sensors[0].fingers = [] }
        try await check(world, "no finger", [.notEnrolled, .notEnrolled, nil, nil], hasSensor: true)
        world.fprintd?.change { $0.sensors = [] }
        try await check(world, "no sensor", [.noHardware, .noHardware, nil, nil], hasSensor: false)
        world.fprintd?.change { $0.sensors = [.init()] }
        world.keychain.stop(with: SIGTERM)
        try await world.keychain.start()
        try await check(
            world,
            "locked",
            [.lockedOutUntilPasscode, .lockedOutUntilPasscode, nil, nil],
            hasSensor: true
        )
        world.keychain.stop(with: SIGTERM)
        try await check(world, "stopped", Array(repeating: missing, count: 4), hasSensor: false)
    }

    @Test("before the set-up the passcode is missing")
    func notSetUp() async throws {
        let keychain = try PrivateKeychain()
        try await keychain.start()
        try await keychain.use {
            for demand: Authenticators in [.strongBiometry, .passcode] {
                let now = try await Keychain.current.capability(for: demand)
                #expect(now.obstacle?.code == .passcodeNotSet && now.obstacle?.nextStep == .setPasscode)
                await #expect(throws: TouchstoneError(.passcodeNotSet)) {
                    try await Keychain.current.authenticate("a test", using: demand)
                }
            }
        }
    }

    @Test("a demand of nothing, and one that means nothing, are refused")
    func nonsense() async throws {
        for demand: Authenticators in [
            [], Authenticators(rawValue: 1 << 9), [.passcode, .init(rawValue: 64)],
        ] {
            await #expect(throws: TouchstoneError(.unsupported)) {
                try await Keychain.current.capability(for: demand)
            }
            await #expect(throws: TouchstoneError(.unsupported)) {
                try await Keychain.current.authenticate("a test", using: demand)
            }
        }
    }
}
