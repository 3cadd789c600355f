import KeychainClient
import KeychainModel
import TouchstoneTesting

@testable import Touchstone

/// A keychain with its daemon, and a sensor that follows a script.
struct World {
    let keychain: PrivateKeychain
    let fprintd: ScriptedFprintd?
    private let bus: PrivateBus?
    private let promptsBefore: Int
    /// Who listens to what this process does in this keychain, for the side that counts those.
    let listeners = Listeners()

    /// A keychain that is set up and unlocked.
    ///
    /// - Parameters:
    ///   - fingers: what is enrolled; nil for no sensor.
    ///   - settings: more lines for the daemon's configuration.
    /// - Throws: what starting its parts throws.
    init(fingers: [String]? = nil, settings: [String] = []) async throws {
        var bus: PrivateBus?
        var fprintd: ScriptedFprintd?
        if let fingers {
            let started = try await PrivateBus.start(sensors: [])
            bus = started
            fprintd = try await ScriptedFprintd.start(on: started, .init(sensors: [.init(fingers: fingers)]))
        }
        self.fprintd = fprintd
        self.bus = bus
        keychain = try await PrivateKeychain.ready(bus: bus, settings: settings)
        promptsBefore = keychain.prompts
    }

    /// One enrolled finger.
    static func withFinger() async throws -> World { try await World(fingers: ["right-index-finger"]) }

    /// The boxes shown since the set-up.
    var prompts: Int { keychain.prompts - promptsBefore }

    /// Has the next boxes wait for the enrolled finger, which touches each as soon as the sensor is armed.
    func touches(_ count: Int = 1) throws {
        try keychain.tellPerson(Array(repeating: .waits, count: count))
        fprintd?.change { $0.verifications = Array(repeating: .init([.match]), count: count) }
    }

    /// Has the next boxes cancelled.
    func cancels(_ count: Int = 1) throws {
        try keychain.tellPerson(Array(repeating: .cancels, count: count))
    }

    /// Has the next box left alone, by the person and the fingers.
    func ignores() throws {
        try keychain.tellPerson([.waits])
        fprintd?.change { $0.verifications = [] }
    }

    /// Has the next boxes answered as usual, also where a box was taken away before its person did as told.
    func answers() throws { try keychain.tellPerson([]) }

    /// Locks the keychain, as a screen lock does.
    func lock() throws { try keychain.client.lock() }

    /// Waits until so many boxes were shown since the set-up.
    func waitForPrompt(_ count: Int) async throws {
        try await Deadline.wait(for: "box \(count)") { prompts >= count ? true : nil }
    }

    /// Changes what is enrolled, and has the daemon see it.
    func enrol(_ fingers: [String]) async throws {
        let before = try keychain.client.canEvaluatePolicy(1).domainState
        fprintd?.change { $0.sensors[0].fingers = fingers }
        try await fprintd?.announce(.enrolStatus("enroll-completed", done: true))
        try await Deadline.wait(for: "another enrolled set") {
            try keychain.client.canEvaluatePolicy(1).domainState != before ? true : nil
        }
    }
}

/// The error of a call; nil where it threw none.
func failure<R>(_ body: () async throws(TouchstoneError) -> R) async -> TouchstoneError? {
    do throws(TouchstoneError) {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}
