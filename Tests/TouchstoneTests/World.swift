import KeychainClient
import KeychainModel
import TouchstoneTesting

@testable import Touchstone

/// A keychain with its daemon, and a scripted sensor.
struct World {
    let keychain: PrivateKeychain
    let fprintd: ScriptedFprintd?
    private let bus: PrivateBus?
    private let promptsBefore: Int
    /// The listeners to this process's actions, where the platform needs them.
    let listeners = Listeners()

    /// Creates a keychain that is set up and unlocked.
    ///
    /// - Parameters:
    ///   - fingers: the enrolled fingers; nil for no sensor.
    ///   - sensor: the sensor's name.
    ///   - settings: additional lines of the daemon's configuration.
    /// - Throws: an error of starting one of the parts.
    init(
        fingers: [String]? = nil,
        sensor: String = "Scripted sensor",
        settings: [String] = []
    ) async throws {
        var bus: PrivateBus?
        var fprintd: ScriptedFprintd?
        if let fingers {
            let started = try await PrivateBus.start(sensors: [])
            bus = started
            fprintd = try await ScriptedFprintd.start(
                on: started,
                .init(sensors: [.init(name: sensor, fingers: fingers)])
            )
        }
        self.fprintd = fprintd
        self.bus = bus
        keychain = try await PrivateKeychain.ready(bus: bus, settings: settings)
        promptsBefore = keychain.prompts
    }

    /// One enrolled finger.
    static func withFinger() async throws -> World { try await World(fingers: ["right-index-finger"]) }

    /// The number of prompts since set-up.
    var prompts: Int { keychain.prompts - promptsBefore }

    /// Lets the next prompts wait for the enrolled finger, which touches each as soon as the sensor is armed.
    func touches(_ count: Int = 1) throws {
        try keychain.tellPerson(Array(repeating: .waits, count: count))
        fprintd?.change { $0.verifications = Array(repeating: .init([.match]), count: count) }
    }

    /// Lets the next prompt wait for touches, each with a result of fprintd; the prompt is shown anew after each.
    func touches(resulting results: [String]) throws {
        try keychain.tellPerson(Array(repeating: .waits, count: results.count))
        fprintd?.change { script in
            script.verifications = results.map { result in
                .init([.status(result, done: ["verify-match", "verify-no-match"].contains(result))])
            }
        }
    }

    /// Presses the fallback button of the next prompt, and takes the one with this number of those that it names.
    func choosesFallback(_ index: Int) throws {
        try keychain.tellPerson([.usual] + Array(repeating: .next, count: index) + [.usual])
    }

    /// Cancels the next prompts.
    func cancels(_ count: Int = 1) throws {
        try keychain.tellPerson(Array(repeating: .cancels, count: count))
    }

    /// Leaves the next prompt unanswered, without a touch.
    func ignores() throws {
        try keychain.tellPerson([.waits])
        fprintd?.change { $0.verifications = [] }
    }

    /// Answers the next prompts as usual, also if a prompt was removed before its scripted action.
    func answers() throws { try keychain.tellPerson([]) }

    /// Locks the keychain, as a screen lock does.
    func lock() throws { try keychain.client.lock() }

    /// Waits until `count` prompts were shown since set-up.
    func waitForPrompt(_ count: Int) async throws {
        try await Deadline.wait(for: "box \(count)") { prompts >= count ? true : nil }
    }

    /// Changes the enrolled fingers, and waits until the daemon notices.
    func enrol(_ fingers: [String]) async throws {
        let before = try keychain.client.canEvaluatePolicy(1).domainState
        fprintd?.change { $0.sensors[0].fingers = fingers }
        try await fprintd?.announce(.enrolStatus("enroll-completed", done: true))
        try await Deadline.wait(for: "another enrolled set") {
            try keychain.client.canEvaluatePolicy(1).domainState != before ? true : nil
        }
    }
}

/// The error of a call; nil if it threw none.
func failure<R>(_ body: () async throws(TouchstoneError) -> R) async -> TouchstoneError? {
    do throws(TouchstoneError) {
        _ = try await body()
        return nil
    } catch {
        return error
    }
}
