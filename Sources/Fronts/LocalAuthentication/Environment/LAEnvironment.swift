public import Foundation
package import KeychainClient
import KeychainModel
import SecretMemory
import Security

/// Which ways to authenticate there are, told without a prompt.
///
/// ```swift
/// if let biometry = LAEnvironment.currentUser.state.biometry, biometry.isLockedOut {
///     // say that the passcode is due
/// }
/// ```
public final class LAEnvironment: NSObject, @unchecked Sendable {  // all that changes is behind a lock
    /// Hears of changes, on a queue of this library.
    public protocol Observer: NSObjectProtocol {
        /// The state is another one than `oldState`; ``LAEnvironment/state`` has the new one already.
        func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: State)
    }

    private struct WeakObserver: @unchecked Sendable {  // observers are called on `queue` alone
        weak var observer: (any Observer)?
    }

    private struct Watch {
        var observers: [WeakObserver] = []
        /// The state that observers know.
        var known: State?
        var timer: (any DispatchSourceTimer)?

        /// Forgets an observer and those that are gone; without observers nobody looks any more.
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

    /// Watches a keychain.
    ///
    /// - Parameters:
    ///   - keychain: whose daemon to ask.
    ///   - interval: how often to look while somebody observes. What changes lies in other processes and in
    ///     hardware; what the daemon tells of it (`watch`) is not listened to here.
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

    /// The ways to authenticate, now.
    ///
    /// Blocks for the time of two questions to the daemon.
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

    /// Adds an observer, which is held weakly: its owner must keep it.
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

    /// Tells observers of a state that they do not know; on `queue`, so that they hear of changes in order.
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
    /// Does nothing: observers need not listen.
    public func environment(
        _ environment: LAEnvironment,
        stateDidChangeFromOldState oldState: LAEnvironment.State
    ) {}
}
