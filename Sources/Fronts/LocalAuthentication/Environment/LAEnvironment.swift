public import Foundation
package import KeychainClient
import KeychainModel
import SecretMemory
import Security

/// The available authentication mechanisms; reading them shows no prompt.
///
/// ```swift
/// if let biometry = LAEnvironment.currentUser.state.biometry, biometry.isLockedOut {
///     // say that the passcode is due
/// }
/// ```
public final class LAEnvironment: NSObject, @unchecked Sendable {  // all that changes is behind a lock
    /// Observes changes; called on a private queue.
    public protocol Observer: NSObjectProtocol {
        /// The state changed from `oldState`; ``LAEnvironment/state`` already returns the new one.
        func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: State)
    }

    private struct WeakObserver: @unchecked Sendable {  // observers are called on `queue` alone
        weak var observer: (any Observer)?
    }

    private struct Watch {
        var observers: [WeakObserver] = []
        /// The state last reported to observers.
        var known: State?
        var timer: (any DispatchSourceTimer)?

        /// Removes an observer and released ones; without observers, stops polling.
        mutating func forget(_ unwanted: ObjectIdentifier? = nil) {
            observers.removeAll { entry in
                guard let observer = entry.observer else { return true }
                return ObjectIdentifier(observer) == unwanted
            }
            guard observers.isEmpty else { return }
            timer?.cancel()
            timer = nil
            known = nil
        }
    }

    private static let ofUser = LAEnvironment(RemoteKeychain.shared, interval: .seconds(2))

    private let keychain: RemoteKeychain
    private let interval: DispatchTimeInterval
    private let queue = DispatchQueue(label: "LocalAuthentication.environment")
    private let watch = Guarded(Watch())

    /// Makes an environment for a keychain.
    ///
    /// - Parameters:
    ///   - keychain: the keychain whose daemon to ask.
    ///   - interval: how often to poll while there are observers. The changes are in other processes and in
    ///     hardware; the daemon's change notifications (`watch`) are not used here.
    package init(_ keychain: RemoteKeychain, interval: DispatchTimeInterval) {
        self.keychain = keychain
        self.interval = interval
        super.init()
    }

    deinit { watch.withLock { $0.timer?.cancel() } }

    /// The environment of the user who runs this program.
    public class var currentUser: LAEnvironment {
        let keychain = KeychainConnection.current
        return keychain === ofUser.keychain ? ofUser : LAEnvironment(keychain, interval: ofUser.interval)
    }

    /// The current state of the mechanisms.
    ///
    /// Blocks for two requests to the daemon.
    public var state: State {
        do {
            let status = try keychain.status()
            let policy = Int64(LAPolicy.deviceOwnerAuthenticationWithBiometrics.rawValue)
            let availability = try keychain.canEvaluatePolicy(policy)
            return State(
                biometry: availability.hasSensor
                    ? MechanismBiometry(availability, status.authentication) : nil,
                userPassword: MechanismUserPassword(status)
            )
        } catch {
            return State(biometry: nil, userPassword: nil)
        }
    }

    /// Adds an observer, which is referenced weakly: the app must keep it.
    public func addObserver(_ observer: any Observer) {
        let (known, entry) = (state, WeakObserver(observer: observer))
        watch.withLock { watch in
            watch.observers.append(entry)
            guard watch.timer == nil else { return }
            watch.known = known
            let timer = DispatchSource.makeTimerSource(queue: queue)
            timer.schedule(deadline: .now() + interval, repeating: interval)
            timer.setEventHandler { [weak self] in
                guard let self else { return }
                self.tell(of: self.state)
            }
            timer.resume()
            watch.timer = timer
        }
    }

    /// Removes an observer.
    public func removeObserver(_ observer: any Observer) {
        let unwanted = ObjectIdentifier(observer)
        watch.withLock { $0.forget(unwanted) }
    }

    /// Reports a new state to observers; called on `queue`, so that changes are reported in order.
    private func tell(of state: State) {
        let (observers, old) = watch.withLock { watch in
            watch.forget()
            guard let known = watch.known, known != state else { return ([WeakObserver](), state) }
            watch.known = state
            return (watch.observers, known)
        }
        for entry in observers { entry.observer?.environment(self, stateDidChangeFromOldState: old) }
    }
}

extension LAEnvironment.Observer {
    /// Does nothing; implementing the method is optional.
    public func environment(
        _ environment: LAEnvironment,
        stateDidChangeFromOldState oldState: LAEnvironment.State
    ) {}
}
