import Foundation
import LocalAuthentication

/// Locks an app until its owner presents a finger, or the passcode if a finger cannot be used.
final class BiometricLock {
    /// The result of an attempt to open the lock.
    enum Outcome {
        case open
        case stillClosed(String)
        /// Fingers were enrolled or removed since the lock was last opened: sign in again.
        case fingersChanged
    }

    private var knownFingers: Data?

    /// The name of the biometry, for use in a sentence.
    var nameOfBiometry: String {
        let context = LAContext()
        _ = context.canEvaluatePolicy(.deviceOwnerAuthenticationWithBiometrics, error: nil)
        switch context.biometryType {
        case .touchID: return "fingerprint"
        case .faceID: return "face"
        case .opticID: return "eyes"
        case .none: return "passcode"
        @unknown default: return "passcode"
        }
    }

    /// Asks the owner to authenticate.
    func open(reason: String) async -> Outcome {
        let context = LAContext()
        context.localizedFallbackTitle = "Use Passcode"
        do {
            try await context.evaluatePolicy(
                .deviceOwnerAuthenticationWithBiometrics,
                localizedReason: reason
            )
            return judge(context.evaluatedPolicyDomainState)
        } catch let error as LAError {
            switch error.code {
            case .userFallback, .biometryNotAvailable, .biometryNotEnrolled, .biometryLockout:
                return await openByPasscode(reason: reason)
            case .userCancel, .appCancel, .systemCancel:
                return .stillClosed("cancelled")
            default:
                return .stillClosed(error.localizedDescription)
            }
        } catch {
            return .stillClosed(error.localizedDescription)
        }
    }

    private func openByPasscode(reason: String) async -> Outcome {
        let context = LAContext()
        do {
            try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: reason)
            return judge(context.evaluatedPolicyDomainState)
        } catch LAError.passcodeNotSet {
            return .stillClosed("set a passcode first")
        } catch {
            return .stillClosed(error.localizedDescription)
        }
    }

    private func judge(_ fingers: Data?) -> Outcome {
        defer { knownFingers = fingers }
        guard let knownFingers else { return .open }
        return knownFingers == fingers ? .open : .fingersChanged
    }
}
