import FingerprintDriver
import Glibc
import MessageBus
import SecretMemory

/// A peer that owns fprintd's name and follows a script, for behaviour that no virtual sensor can produce.
///
/// ```swift
/// let fprintd = try await ScriptedFprintd.start(on: bus, .init(verifications: [.init([.noMatch])]))
/// // …
/// #expect(fprintd.calls.last == "Release")
/// ```
package final class ScriptedFprintd: Sendable {
    /// A signal or property change that a sensor emits.
    package enum Event: Sendable, Equatable {
        /// `VerifyStatus(result, done)`
        case status(String, done: Bool)
        /// `VerifyFingerSelected(finger)`
        case fingerSelected(String)
        /// `PropertiesChanged` with `finger-present`.
        case fingerPresent(Bool)
        /// `EnrollStatus(result, done)`
        case enrolStatus(String, done: Bool)

        /// A finger that is enrolled.
        package static let match = Event.status("verify-match", done: true)
        /// A finger that is not enrolled.
        package static let noMatch = Event.status("verify-no-match", done: true)
    }

    /// What one `VerifyStart` leads to.
    package struct Verification: Sendable {
        /// Emitted before the reply to `VerifyStart`.
        package var before: [Event]
        /// Emitted after the reply; empty for a sensor that stays silent.
        package var after: [Event]
        /// Emitted before the reply for the property `name` while the verification runs.
        package var asked: [Event]
        /// Emitted before the reply to `VerifyStop`; fprintd ends a verification that it has to cancel with
        /// `verify-no-match`.
        package var stopped: [Event]

        /// Describes a verification.
        package init(
            _ after: [Event] = [],
            before: [Event] = [],
            asked: [Event] = [],
            stopped: [Event] = []
        ) {
            self.before = before
            self.after = after
            self.asked = asked
            self.stopped = stopped
        }
    }

    /// A sensor and its enrolled fingers.
    package struct Sensor: Sendable {
        /// The property `name`.
        package var name: String
        /// fprintd's names of the enrolled fingers.
        package var fingers: [String]

        /// Describes a sensor.
        package init(name: String = "Scripted sensor", fingers: [String] = ["right-index-finger"]) {
            self.name = name
            self.fingers = fingers
        }
    }

    /// The script that the peer follows.
    package struct Script: Sendable {
        /// The sensors, in the order in which `GetDevices` lists them.
        package var sensors: [Sensor]
        /// One for each `VerifyStart`; after the last one the sensor stays silent.
        package var verifications: [Verification]
        /// Methods that fail, with fprintd's error name, for example `["Claim": "AlreadyInUse"]`.
        package var errors: [String: String]
        /// Methods that never get a reply.
        package var silentMethods: Set<String>

        /// Creates a script.
        package init(
            sensors: [Sensor] = [Sensor()],
            verifications: [Verification] = [],
            errors: [String: String] = [:],
            silentMethods: Set<String> = []
        ) {
            self.sensors = sensors
            self.verifications = verifications
            self.errors = errors
            self.silentMethods = silentMethods
        }
    }

    private struct State {
        var script: Script
        var calls: [String] = []
        /// The verification in progress.
        var running: Verification?
    }

    private let state: Guarded<State>
    private let peer: Guarded<BusPeer?>
    private let address: String

    private init(_ script: Script, address: String) {
        self.address = address
        state = Guarded(State(script: script))
        peer = Guarded(nil)
    }

    /// Takes fprintd's name on a bus without fprintd, and keeps it as long as the bus exists.
    package static func start(on bus: PrivateBus, _ script: Script = Script()) async throws -> ScriptedFprintd
    {
        let this = ScriptedFprintd(script, address: bus.address)
        let peer = try await BusPeer(address: bus.address) { [weak this] call in this?.answer(call) }
        this.peer.withLock { $0 = peer }
        try await peer.own(Fprint.busName)
        await bus.keep(this)
        return this
    }

    /// Leaves the bus, as a crash of fprintd would, and waits until the bus has released the name.
    package func stop() async throws {
        guard let peer = peer.withLock({ $0.take() }) else { return }
        await peer.close()
        let witness = try await BusPeer(address: address)
        try await witness.waitUntilUnowned(Fprint.busName)
        await witness.close()
    }

    /// The methods that clients called, in order, with their argument, such as `VerifyStart any`.
    ///
    /// Property reads and the manager's methods are not included.
    package var calls: [String] { state.withLock { $0.calls } }

    /// Waits until a method was called the given number of times.
    package func waitUntilCalled(_ call: String, times: Int = 1) async throws {
        try await Deadline.wait(for: call) { calls.count { $0 == call } >= times ? true : nil }
    }

    /// Changes the script from now on.
    package func change(_ body: @Sendable (inout Script) -> Void) { state.withLock { body(&$0.script) } }

    /// Emits an event of a sensor now.
    package func announce(_ event: Event, sensor: Int = 0) async throws {
        let peer = peer.withLock { $0 }
        try await peer?.emit(event.signal(path: Self.path(sensor)))
    }

    /// The object path of a sensor.
    package static func path(_ sensor: Int = 0) -> String { "\(Fprint.rootPath)/Device/\(sensor)" }

    // MARK: Answers

    private func answer(_ call: BusPeer.Call) -> BusPeer.Answer? {
        switch call.interface {
        case Fprint.managerInterface: manager(call.member)
        case propertiesInterface: property(call)
        case Fprint.deviceInterface: device(call)
        default: nil
        }
    }

    private func manager(_ method: String) -> BusPeer.Answer? {
        let paths = state.withLock { $0.script.sensors.indices.map { BusValue.objectPath(Self.path($0)) } }
        switch method {
        case "GetDevices": return .init([.array(of: "o", paths)])
        case "GetDefaultDevice":
            guard let first = paths.first else { return .init(error: "\(Fprint.errorPrefix)NoSuchDevice") }
            return .init([first])
        default: return nil
        }
    }

    private func sensor(_ path: String) -> Sensor? {
        state.withLock { state in
            state.script.sensors.indices.first { Self.path($0) == path }.map { state.script.sensors[$0] }
        }
    }

    private func property(_ call: BusPeer.Call) -> BusPeer.Answer? {
        guard call.member == "Get", let sensor = sensor(call.path) else { return nil }
        switch call.arguments.last?.text {
        case "scan-type": return BusPeer.Answer([.variant(.string("press"))])
        case "name": break
        default: return nil
        }
        var answer = BusPeer.Answer([.variant(.string(sensor.name))])
        let asked = state.withLock { state in
            defer { state.running?.asked = [] }
            return state.running?.asked ?? []
        }
        answer.before = asked.map { $0.signal(path: call.path) }
        return answer
    }

    private func device(_ call: BusPeer.Call) -> BusPeer.Answer? {
        guard let sensor = sensor(call.path) else { return nil }
        let text = call.arguments.first?.text ?? ""
        let (error, isSilent, verification) = state.withLock { state in
            if call.member != "ListEnrolledFingers" {
                state.calls.append(text.isEmpty ? call.member : "\(call.member) \(text)")
            }
            let error = state.script.errors[call.member]
            var verification: Verification?
            if call.member == "VerifyStart", error == nil, !state.script.verifications.isEmpty {
                verification = state.script.verifications.removeFirst()
                state.running = verification
            }
            if call.member == "VerifyStop" {
                verification = state.running.take().map { Verification(before: $0.stopped) }
            }
            return (error, state.script.silentMethods.contains(call.member), verification)
        }
        var answer = BusPeer.Answer()
        if let error {
            answer = .init(error: Fprint.errorPrefix + error, "scripted")
        } else if call.member == "ListEnrolledFingers" {
            answer =
                sensor.fingers.isEmpty
                ? .init(error: "\(Fprint.errorPrefix)NoEnrolledPrints") : .init([.strings(sensor.fingers)])
        }
        if isSilent { answer.reply = nil }
        answer.before = verification?.before.map { $0.signal(path: call.path) } ?? []
        answer.after = verification?.after.map { $0.signal(path: call.path) } ?? []
        return answer
    }
}

extension ScriptedFprintd.Event {
    /// The signal as fprintd sends it.
    func signal(path: String) -> BusPeer.Signal {
        switch self {
        case .status(let result, let done):
            BusPeer.Signal(path, Fprint.deviceInterface, "VerifyStatus", [.string(result), .boolean(done)])
        case .enrolStatus(let result, let done):
            BusPeer.Signal(path, Fprint.deviceInterface, "EnrollStatus", [.string(result), .boolean(done)])
        case .fingerSelected(let finger):
            BusPeer.Signal(path, Fprint.deviceInterface, "VerifyFingerSelected", [.string(finger)])
        case .fingerPresent(let isPresent):
            BusPeer.Signal(
                path,
                propertiesInterface,
                "PropertiesChanged",
                [
                    .string(Fprint.deviceInterface),
                    .array(
                        of: "{sv}",
                        [.entry(.string("finger-present"), .variant(.boolean(isPresent)))]
                    ),
                    .strings([]),
                ]
            )
        }
    }
}
