import Foundation
import KeychainClient
import KeychainModel
import LocalAuthentication
import ScriptedDaemon
import Security
import Synchronization
import Testing

@Suite("LAEnvironment")
struct LAEnvironmentTests {
    /// The state that the peer reports: keybag, sensor and fingers.
    private struct World: Sendable {
        var keybag = KeybagState.unlocked
        var fingers = ["right-index-finger"]
        var isLockedOut = false
        var hasSensor = true
        var isClosed = false

        var status: StatusReply {
            StatusReply(
                keybag: keybag,
                assurance: .test,
                assuranceReasons: [],
                authentication: AuthenticationStatus(
                    fingers: hasSensor ? fingers : [],
                    isBiometryLockedOut: isLockedOut,
                    isClosed: isClosed
                ),
                promptFault: nil,
                daemonVersion: "scripted",
                daemonProcess: 1
            )
        }

        var availability: AuthenticationAvailability {
            let code: AuthenticationError.Code? =
                if !hasSensor { .biometryNotAvailable } else if isLockedOut { .biometryLockout } else { nil }
            return AuthenticationAvailability(
                error: code.map { AuthenticationError($0) },
                hasSensor: hasSensor,
                domainState: hasSensor ? [UInt8(fingers.count)] : nil
            )
        }
    }

    private final class ScriptedWorld: Sendable {
        let world = Mutex(World())

        func daemon() throws -> ScriptedDaemon {
            try ScriptedDaemon { head, reader in
                let world = self.world.withLock { $0 }
                guard head.method == .canEvaluatePolicy else {
                    _ = try EmptyBody(from: &reader)
                    return .body(world.status)
                }
                let policy = try CanEvaluatePolicy(from: &reader).policy
                #expect(policy == 1)
                return .body(AvailabilityReply(world.availability))
            }
        }

        func change(_ change: (inout World) -> Void) { world.withLock { change(&$0) } }
    }

    private final class Listener: NSObject, LAEnvironment.Observer, Sendable {
        let heard = Mutex<[(old: LAEnvironment.State, new: LAEnvironment.State)]>([])

        var last: LAEnvironment.State? { heard.withLock { $0.last?.new } }

        func environment(
            _ environment: LAEnvironment,
            stateDidChangeFromOldState oldState: LAEnvironment.State
        ) {
            let new = environment.state
            heard.withLock { $0.append((oldState, new)) }
        }
    }

    @Test("fingers and passcode are reported without a prompt")
    func state() throws {
        let script = ScriptedWorld()
        let daemon = try script.daemon()
        let environment = KeychainConnection.$current.withValue(daemon.keychain) { LAEnvironment.currentUser }
        let state = environment.state
        let biometry = try #require(state.biometry)
        #expect(biometry.isUsable && biometry.isEnrolled && !biometry.isLockedOut)
        #expect(biometry.biometryType == .touchID)
        #expect(biometry.stateHash == Data([1]))
        #expect(!biometry.builtInSensorInaccessible)
        #expect(!biometry.localizedName.isEmpty && !biometry.iconSystemName.isEmpty)
        let passcode = try #require(state.userPassword)
        #expect(passcode.isSet && passcode.isUsable)
        #expect(state.allMechanisms == [biometry, passcode])
        #expect(state.companions == [])
        #expect(environment.state == state)
        #expect(environment.state.hash == state.hash)
        #expect(state.copy() as? LAEnvironment.State == state)
        #expect(Set(daemon.requested) == [.status, .canEvaluatePolicy])
    }

    @Test("lockout, missing or closed passcode and a missing sensor are reported")
    func obstacles() throws {
        let script = ScriptedWorld()
        let daemon = try script.daemon()
        let environment = LAEnvironment(daemon.keychain, interval: .seconds(60))
        script.change { $0.isLockedOut = true }
        let lockedOut = environment.state
        #expect(lockedOut.biometry?.isLockedOut == true)
        #expect(lockedOut.biometry?.isUsable == false)
        script.change { $0.isClosed = true }
        #expect(environment.state.userPassword?.isSet == true)
        #expect(environment.state.userPassword?.isUsable == false)
        script.change { $0.keybag = .notSetUp }
        #expect(environment.state.userPassword?.isSet == false)
        script.change { $0.hasSensor = false }
        #expect(environment.state.biometry == nil)
        #expect(environment.state.allMechanisms.count == 1)
        #expect(environment.state != lockedOut)
    }

    @Test("without a reachable keychain there are no mechanisms")
    func unreachable() {
        let nowhere = Layout(
            runtimeDirectory: "/nonexistent",
            dataDirectory: "/nonexistent",
            configurationFile: "/nonexistent"
        )
        let keychain = RemoteKeychain(layout: nowhere, daemon: .none)
        #expect(LAEnvironment(keychain, interval: .seconds(60)).state.allMechanisms == [])
    }

    @Test("observers get changes with the former state, until they are removed or released")
    func observers() async throws {
        let script = ScriptedWorld()
        let daemon = try script.daemon()
        let environment = LAEnvironment(daemon.keychain, interval: .milliseconds(10))
        let listener = Listener()
        environment.addObserver(listener)
        let before = environment.state
        script.change { $0.fingers.append("left-thumb") }
        // A change between the two requests of a poll is reported in two parts.
        try await Eventually.holds { listener.last == environment.state && listener.last != before }
        #expect(listener.heard.withLock { $0.first?.old } == before)
        #expect(listener.last?.biometry?.stateHash == Data([2]))
        script.change { $0.isLockedOut = true }
        try await Eventually.holds {
            listener.last == environment.state && listener.last?.biometry?.isLockedOut == true
        }
        environment.removeObserver(listener)
        let heard = listener.heard.withLock(\.count)
        var brief: Listener? = Listener()
        if let brief { environment.addObserver(brief) }
        brief = nil
        // Without observers polling stops; the last poll may still be running.
        script.change { $0.isLockedOut = false }
        try await Eventually.holds {
            let asked = daemon.requested.count
            Thread.sleep(forTimeInterval: 0.05)
            return daemon.requested.count == asked
        }
        #expect(listener.heard.withLock(\.count) == heard)
    }

    @Test("an observer's methods are all optional")
    func silentObserver() async throws {
        final class Silent: NSObject, LAEnvironment.Observer {}
        let script = ScriptedWorld()
        let daemon = try script.daemon()
        let environment = LAEnvironment(daemon.keychain, interval: .milliseconds(10))
        let (silent, listener) = (Silent(), Listener())
        environment.addObserver(silent)
        environment.addObserver(listener)
        script.change { $0.fingers = [] }
        try await Eventually.holds { listener.last?.biometry?.isEnrolled == false }
        environment.removeObserver(silent)
        #expect(Set(daemon.requested) == [.status, .canEvaluatePolicy])
    }
}
