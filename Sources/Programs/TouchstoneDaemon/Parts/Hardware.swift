import Glibc
import KeychainEngine
import KeychainModel
import TPMDriver

/// The machine's TPM and the drivers that use it.
struct Hardware {
    let sealer: TPMKeySealer
    let counters: TPMHardwareGuard
    let privateKeys: TPMPrivateKeys
    let attester: TPMKeyAttester

    /// The TPM, or why it cannot be used, as `errno`; neither if the settings turn it off.
    ///
    /// `transport` names another TPM than the machine's. Nothing is sent to the TPM yet.
    static func find(
        _ settings: Configuration,
        transport: String?,
        notes: HardwareNotesFile
    ) -> (hardware: Hardware?, obstacle: CInt?) {
        if let transport { return (Hardware(TPM(configuration: transport, notes: notes)), nil) }
        guard settings.usesTPM else { return (nil, nil) }
        guard unsafe access(device, R_OK | W_OK) == 0 else { return (nil, errno) }
        return (Hardware(TPM(notes: notes)), nil)
    }

    private init(_ tpm: TPM) {
        sealer = TPMKeySealer(tpm)
        counters = TPMHardwareGuard(tpm)
        privateKeys = TPMPrivateKeys(tpm)
        attester = TPMKeyAttester(tpm)
    }

    /// The kernel's resource manager.
    static let device = "/dev/tpmrm0"
}
