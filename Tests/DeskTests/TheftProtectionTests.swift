import Desk
import FingerprintDriver
import KeychainEngine
import KeychainModel
import Testing
import TouchstoneTesting

/// The cells: off, away, always; a trusted network, another one, an impostor of its name, a cable, none, no NetworkManager; passcode,
/// recovery code, fingers, the protection itself; before, at and after the hour, too late; the daemon restarted, the machine
/// restarted; locked before the first unlock; the command, another program.
@Suite("Protection against theft", .timeLimit(.minutes(20)))
struct TheftProtectionTests {
    private let bus: PrivateBus
    private let network: ScriptedNetworkManager
    private let clock = StandingClock()
    private let world: DeskWorld
    private let command: Visit
    private static let prompt = PromptFields(origin: PromptOrigin(terminal: "/dev/pts/0"), reason: "a test")
    private static let home = ScriptedNetworkManager.Network.secured("home")
    private static let hour = Duration.seconds(3600)
    private static let newPasscode = "velvet walnut ripple anchor sunday"

    init() async throws {
        bus = try await PrivateBus.start(sensors: [])
        network = try await ScriptedNetworkManager(bus, Self.home)
        world = try DeskWorld(clock: clock, bus: bus.busAddress)
        try await world.setUp()
        command = world.desk.visit(by: DeskWorld.asker(DeskWorld.command))
    }

    private func change(
        _ change: ChangeProtection.Change,
        by visit: Visit? = nil,
        _ passcode: String = DeskWorld.passcode
    ) async throws(KeychainError) {
        world.prompter.forget()
        world.prompter.will(.type(passcode))
        try await (visit ?? command).changeProtection(
            ChangeProtection(change, prompt: Self.prompt),
            request: 1
        )
    }

    /// Changes the passcode to another one and back.
    private func changePasscode(by visit: Visit? = nil) async throws(KeychainError) {
        world.prompter.forget()
        world.prompter.will(.type(DeskWorld.passcode), .type(Self.newPasscode))
        try await (visit ?? command).changePasscode(Self.prompt)
        world.prompter.will(.type(Self.newPasscode), .type(DeskWorld.passcode))
        try await (visit ?? command).changePasscode(Self.prompt)
    }

    private func changeRecoveryCode() async throws(KeychainError) {
        world.prompter.forget()
        world.prompter.will(.type(DeskWorld.passcode), .confirm, .typeShown)
        try await command.changeRecoveryCode(Self.prompt)
    }

    /// Expects a refusal with so many seconds to wait.
    private func expectWait(
        _ seconds: Int64,
        _ when: Comment,
        _ body: () async throws -> Void
    ) async throws {
        let error = await #expect(throws: KeychainError.self, when) { try await body() }
        #expect(error?.cause?.known == .changeDelayed, when)
        #expect(error?.remedy == .wait(seconds: seconds), when)
    }

    private func protect(_ mode: TheftProtection = .away) async throws {
        try await change(.trustHere)
        try await change(.mode(mode))
    }

    private func waiting() async throws -> [WaitingChange] { try await command.protection().waiting }

    @Test("it is off at first, and nothing waits anywhere")
    func off() async throws {
        let protection = try await command.protection()
        #expect(protection.mode == .off && protection.places.isEmpty && !protection.isEffective)
        await network.move(to: .none)
        try await changePasscode()
        try await changeRecoveryCode()
        #expect(try await waiting().isEmpty)
    }

    @Test("in a trusted place nothing waits, in every other a change waits an hour")
    func away() async throws {
        try await protect()
        try await changePasscode()
        try await changeRecoveryCode()
        let elsewhere: [ScriptedNetworkManager.Network] = [
            .secured("cafe"), .secured("home", profile: "another-profile"), .wired, .none,
            .wireless(profile: "uuid-home", name: "home", rsnFlags: 0),
        ]
        for (number, place) in elsewhere.enumerated() {
            await network.move(to: place)
            #expect(try await command.protection().isEffective, "\(place)")
            // The wait of the first goes on in the others.
            try await expectWait(3600 - Int64(number), "\(place)") { try await changePasscode() }
            clock.advance(by: .seconds(1))
        }
        await network.stop()
        try await expectWait(3595, "without NetworkManager") { try await changePasscode() }
    }

    @Test("after the hour, and for four more, the change can be made once; later it waits anew")
    func window() async throws {
        try await protect()
        await network.move(to: .none)
        try await expectWait(3600, "asked") { try await changeRecoveryCode() }
        #expect(try await waiting() == [WaitingChange(.recoveryCode, secondsLeft: 3600)])
        clock.advance(by: .seconds(3599))
        try await expectWait(1, "a second before") { try await changeRecoveryCode() }
        clock.advance(by: .seconds(1))
        #expect(try await waiting() == [WaitingChange(.recoveryCode, secondsLeft: 0)])
        // A wait is for one kind of change.
        try await expectWait(3600, "the passcode") { try await changePasscode() }
        try await changeRecoveryCode()
        #expect(try await waiting() == [WaitingChange(.passcode, secondsLeft: 3600)])
        try await expectWait(3600, "the next one") { try await changeRecoveryCode() }

        clock.advance(by: .seconds(5 * 3600 - 1))
        try await changeRecoveryCode()
        clock.advance(by: .seconds(1))
        #expect(try await waiting().isEmpty)
        try await expectWait(3600, "too late") { try await changePasscode() }
    }

    @Test("a change that was cancelled or refused begins no wait, and ends none")
    func cancelled() async throws {
        try await protect(.always)
        world.prompter.forget()
        world.prompter.will(.cancel)
        await #expect(throws: KeychainError(.userCanceled)) { try await command.changePasscode(Self.prompt) }
        #expect(try await waiting().isEmpty)
        try await expectWait(3600, "asked") { try await changePasscode() }
        clock.advance(by: Self.hour)
        world.prompter.forget()
        world.prompter.will(.type(DeskWorld.passcode), .cancel)
        await #expect(throws: KeychainError(.userCanceled)) { try await command.changePasscode(Self.prompt) }
        #expect(try await waiting() == [WaitingChange(.passcode, secondsLeft: 0)])
        world.prompter.forget()
        world.prompter.will(.type(DeskWorld.passcode), .type(Self.newPasscode))
        try await command.changePasscode(Self.prompt)
    }

    @Test("at home a wait is over, and the next time away it begins anew")
    func home() async throws {
        try await protect()
        await network.move(to: .none)
        try await expectWait(3600, "away") { try await changePasscode() }
        await network.move(to: Self.home)
        try await changePasscode()
        #expect(try await waiting().isEmpty)
        clock.advance(by: Self.hour)
        await network.move(to: .none)
        try await expectWait(3600, "away again") { try await changePasscode() }
    }

    @Test(
        "what weakens the protection waits too, what strengthens it does not, and nothing changes without the passcode"
    )
    func itself() async throws {
        await network.move(to: .wired)
        let refused = await #expect(throws: KeychainError.self) { try await change(.trustHere) }
        #expect(refused?.cause?.known == .placeRefused)
        #expect(refused?.cause?.detail == PlaceError.notWireless.rawValue)
        await network.move(to: Self.home)
        try await protect()
        await network.move(to: .secured("cafe"))
        try await expectWait(3600, "off") { try await change(.mode(.off)) }
        try await expectWait(3600, "trust") { try await change(.trustHere) }
        try await change(.mode(.always))
        await network.move(to: Self.home)
        try await expectWait(3600, "everywhere, so at home too") { try await change(.mode(.away)) }
        #expect(try await command.protection().mode == .always)
        try await change(.distrust(Array("home".utf8)))
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await change(.distrust(Array("home".utf8)))
        }
        clock.advance(by: Self.hour)
        try await change(.mode(.off))
        let protection = try await command.protection()
        #expect(protection.mode == .off && protection.places.isEmpty && protection.waiting.isEmpty)

        // Nobody is asked about what is so already.
        let boxes = world.prompter.boxes.count
        try await change(.mode(.off))
        #expect(world.prompter.boxes.count == boxes)
        world.prompter.forget()
        world.prompter.will(.cancel)
        await #expect(throws: KeychainError(.userCanceled)) {
            try await command.changeProtection(
                ChangeProtection(.mode(.away), prompt: Self.prompt),
                request: 1
            )
        }
        #expect(try await command.protection().mode == .off)
    }

    @Test("only the command may read or change it, and no program finds or deletes what holds it")
    func foreign() async throws {
        try await protect()
        let app = world.desk.visit(by: DeskWorld.asker("/usr/bin/app"))
        await #expect(throws: KeychainError(.missingEntitlement)) { try await app.protection() }
        await #expect(throws: KeychainError(.missingEntitlement)) { try await change(.mode(.off), by: app) }
        let query = ItemQuery(itemClass: .genericPassword, limit: .all)
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await app.delete(DeleteItems(query: query, prompt: Self.prompt))
        }
        // Nor does a move of the command's items take it away.
        let own = try #require(AccessGroup(ClientIdentity.ownGroup))
        let other = try #require(AccessGroup("/usr/bin/app"))
        await #expect(throws: KeychainError(.itemNotFound)) {
            try await command.move(
                MoveItems(from: own, to: other, isDryRun: false, prompt: Self.prompt),
                request: 4
            )
        }
        try await world.add("data", service: "touchstone", by: DeskWorld.asker(DeskWorld.command))
        world.prompter.forget()
        world.prompter.will(.type(DeskWorld.passcode))
        let moved = try await command.move(
            MoveItems(from: own, to: other, isDryRun: false, prompt: Self.prompt),
            request: 5
        )
        #expect(moved.count == 1)
        #expect(try await command.protection().mode == .away)

        // A change of another program, as of one that has its own settings page, waits as well.
        await network.move(to: .none)
        try await expectWait(3600, "another program") { try await changePasscode(by: app) }
    }

    @Test("places are a bounded list of networks, whatever their names are")
    func places() async throws {
        for number in 1...ProtectionReply.mostPlaces {
            await network.move(to: .secured("\(number) \u{1B}[2J", profile: "\(number)"))
            try await change(.trustHere)
        }
        await network.move(to: .secured("one more", profile: "more"))
        let error = await #expect(throws: KeychainError.self) { try await change(.trustHere) }
        #expect(error?.cause?.known == .placeRefused)
        #expect(try await command.protection().places.count == ProtectionReply.mostPlaces)
        try await change(.distrust(Array("7 \u{1B}[2J".utf8)))
        try await change(.trustHere)
        #expect(try await command.protection().isInTrustedPlace)
    }

    // MARK: Restarts

    /// Protects a keychain in three runs of the daemon: the first begins a wait, the second is 600 s later, the third after a restart
    /// of the machine.
    private func inThreeRuns(
        _ begin: (DeskWorld, Visit) async throws -> Void,
        _ expect: (DeskWorld, Visit, Int64, Comment) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let path = directory.appending("keychain")
        func run(_ body: (DeskWorld, Visit) async throws -> Void) async throws {
            let world = try DeskWorld(at: path, clock: clock, bus: bus.busAddress)
            let visit = world.desk.visit(by: DeskWorld.asker(DeskWorld.command))
            try await body(world, visit)
            visit.end()
            await world.engine.close()
        }
        try await run { world, visit in
            try await world.setUp()
            world.prompter.will(.type(DeskWorld.passcode))
            try await visit.changeProtection(
                ChangeProtection(.mode(.always), prompt: Self.prompt),
                request: 1
            )
            try await begin(world, visit)
        }
        clock.advance(by: .seconds(600))
        try await run { try await expect($0, $1, 3000, "the daemon was restarted") }
        clock.restart(bootID: "boot-2")
        try await run { try await expect($0, $1, 3600, "the machine was restarted") }
    }

    @Test("the daemon's restart changes nothing; after the machine's a change has to be asked for anew")
    func restarts() async throws {
        func ask(_ world: DeskWorld, _ visit: Visit, _ left: Int64, _ when: Comment) async throws {
            world.prompter.forget()
            world.prompter.will(.type(DeskWorld.passcode))
            let error = await #expect(throws: KeychainError.self, when) {
                try await visit.changePasscode(Self.prompt)
            }
            #expect(error?.remedy == .wait(seconds: left), when)
        }
        try await inThreeRuns { world, visit in
            try await ask(world, visit, 3600, "asked")
        } _: { world, visit, left, when in
            let locked = await #expect(throws: KeychainError.self, when) { try await visit.protection() }
            #expect(locked?.cause == .locked, when)
            try await ask(world, visit, left, when)
            #expect(try await visit.protection().mode == .always, when)
        }
    }

    @Test("the wait of changed fingers outlives the daemon, and begins anew with the machine")
    func fingersRestarted() async throws {
        func wait(_ visit: Visit) async throws -> [WaitingChange] {
            let told = try await visit.availability(
                of: CanEvaluatePolicy(policy: Int64(AuthenticationPolicy.biometrics.rawValue))
            )
            #expect(told.error?.cause?.known == .fingersDelayed)
            return try await visit.protection().waiting
        }
        try await inThreeRuns { world, visit in
            world.reader.enrol(.success(Self.threeFingers))
            let waiting = try await wait(visit)
            #expect(waiting == [WaitingChange(.fingers, secondsLeft: 3600)])
        } _: { world, visit, left, when in
            world.reader.enrol(.success(Self.threeFingers))
            world.prompter.will(.type(DeskWorld.passcode))
            try await visit.unlock(Self.prompt)
            let waiting = try await wait(visit)
            #expect(waiting == [WaitingChange(.fingers, secondsLeft: left)], when)
        }
    }

    // MARK: Fingers

    private static let threeFingers = Enrolment(
        device: "Scripted sensor",
        fingers: ScriptedReader.twoFingers.fingers + ["right-thumb"],
        templateDigest: nil,
        completions: 0
    )

    private func evaluate(_ flags: AccessControlFlags) async throws -> Set<AuthenticationFactor> {
        let app = world.desk.visit(by: DeskWorld.asker("/usr/bin/app"))
        defer { app.end() }
        let body = EvaluateAccessControl(
            accessControl: try AccessControl(accessibility: .whenUnlocked, flags: flags),
            operation: Int64(AccessOperation.useItem.rawValue),
            context: 7,
            reuseSeconds: 0,
            prompt: Self.prompt
        )
        return try await app.evaluate(body, request: 9).factors
    }

    /// Expects that the passcode is asked for and taken, and that a finger is not.
    private func expectNoFinger(_ seconds: Int64, _ when: Comment) async throws {
        world.prompter.forget()
        world.prompter.will(.type(DeskWorld.passcode))
        #expect(try await evaluate(.userPresence) == [.passcode], when)
        for flags in [.biometryAny, [.biometryAny, .and, .devicePasscode]] as [AccessControlFlags] {
            world.prompter.forget()
            world.prompter.will(.type(DeskWorld.passcode))
            let error = await #expect(throws: KeychainError.self, when) { try await evaluate(flags) }
            #expect(error?.authentication?.cause?.known == .fingersDelayed, when)
            #expect(error?.remedy == .wait(seconds: seconds), when)
        }
        let told = try await command.availability(
            of: CanEvaluatePolicy(policy: Int64(AuthenticationPolicy.biometrics.rawValue))
        )
        #expect(told.error?.cause?.known == .fingersDelayed, when)
        #expect(!world.reader.isArmed, when)
    }

    private func expectFinger(_ when: Comment) async throws {
        world.prompter.forget()
        async let factors = evaluate(.biometryAny)
        await world.reader.touch(.match)
        #expect(try await factors == [.biometry], when)
    }

    @Test("changed fingers count for nothing for an hour away, and at once in a trusted place")
    func fingers() async throws {
        try await protect()
        try await expectFinger("before")
        await network.move(to: .none)
        try await expectFinger("away, the same fingers")
        world.reader.enrol(.success(Self.threeFingers))
        world.prompter.forget()
        world.prompter.will(.type(DeskWorld.passcode))
        #expect(try await evaluate(.userPresence) == [.passcode])
        #expect(try await waiting() == [WaitingChange(.fingers, secondsLeft: 3600)])
        clock.advance(by: .seconds(3599))
        try await expectNoFinger(1, "a second before")
        clock.advance(by: .seconds(1))
        try await expectFinger("after the hour")
        #expect(try await waiting().isEmpty)
    }

    @Test("changed fingers count as soon as the machine is home, and where nothing is protected")
    func fingersAtHome() async throws {
        try await protect()
        await network.move(to: .none)
        world.reader.enrol(.success(Self.threeFingers))
        try await expectNoFinger(3600, "away")
        await network.move(to: Self.home)
        try await expectFinger("at home")
        try await change(.mode(.off))
        await network.move(to: .none)
        world.reader.enrol(.success(ScriptedReader.twoFingers))
        world.prompter.forget()
        world.prompter.will(.type(DeskWorld.passcode))
        #expect(try await evaluate(.userPresence) == [.passcode], "the passcode is due as ever")
        try await expectFinger("off")
    }
}
