import Glibc
import Testing
import Touchstone
import TouchstoneTesting

@Suite("Capabilities", .timeLimit(.minutes(20)))
struct CapabilityTests {
    @Test("with a sensor and an enrolled finger there is no obstacle, and the sensor is described")
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
            // The change is reported on a separate connection.
            let later = try await Deadline.wait(for: "two fingers") { () -> Capability? in
                let now = try await Keychain.current.capability()
                return now.enrolmentState != state && (!World.tellsOfSensor || now.sensor?.enrolledCount == 2)
                    ? now : nil
            }
            #expect(later.enrolmentState != nil && later.enrolmentState != state)
        }
        #expect(world.prompts == 0)
    }

    @Test(
        "the obstacle equals the error of authenticating in each state, and the sensor is reported regardless"
    )
    func obstacles() async throws {
        let demands: [Authenticators] = [
            .strongBiometry, .weakBiometry, .passcode, [.strongBiometry, .passcode],
        ]
        /// Expects this obstacle for each demand; nil: none.
        func check(
            _ world: World,
            _ state: String,
            _ expected: [TouchstoneError.Code?],
            hasSensor: Bool
        ) async throws {
            try await world.use {
                // fprintd does not signal a removed sensor: cached answers stay valid until the daemon has
                // checked.
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
        try await check(world, "unplugged", [.disconnected, .disconnected, nil, nil], hasSensor: false)
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

    @Test("before set-up the obstacle is passcodeNotSet")
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

    @Test("an empty and an unknown demand are refused")
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
