import Glibc
import KeychainEngine
import KeychainModel
import TPMDriver

/// The machine's TPM and what the keychain makes of it.
struct Hardware {
    let sealer: TPMKeySealer
    let counters: TPMHardwareGuard
    let privateKeys: TPMPrivateKeys
    let attester: TPMKeyAttester

    /// The TPM that the settings allow; nil when there is none, or none that this user may open.
    ///
    /// Nothing is sent to it yet.
    init?(_ settings: Configuration) {
        let tpm: TPM
        if let simulator = settings.testParts.tpm {
            tpm = TPM(configuration: simulator)
        } else {
            guard settings.usesTPM, Self.obstacle == nil else { return nil }
            tpm = TPM()
        }
        sealer = TPMKeySealer(tpm)
        counters = TPMHardwareGuard(tpm)
        privateKeys = TPMPrivateKeys(tpm)
        attester = TPMKeyAttester(tpm)
    }

    /// Why the machine's TPM cannot be used, as `errno` says; nil when it can.
    static var obstacle: CInt? {
        unsafe access(device, R_OK | W_OK) == 0 ? nil : errno
    }

    /// The kernel's resource manager.
    static let device = "/dev/tpmrm0"
}
