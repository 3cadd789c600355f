import KeychainClient
import KeychainModel

extension StoredSecrets {
    /// Makes a call, and if no finger counts until the passcode is entered, asks for the passcode and makes it again.
    ///
    /// A passcode that cannot be asked for leaves the call's own error, which says what to do.
    func passcodeFirst<R: ~Copyable>(
        _ reason: String,
        _ call: () throws(KeychainError) -> R
    ) throws(KeychainError) -> R {
        do throws(KeychainError) {
            return try call()
        } catch {
            guard error.authentication?.code == .biometryLockout, error.remedy == .usePasscode else {
                throw error
            }
            do throws(KeychainError) {
                try keychain.unlock(prompt(reason))
            } catch let refusal {
                throw refusal.authentication?.code == .notInteractive ? error : refusal
            }
        }
        return try call()
    }
}
