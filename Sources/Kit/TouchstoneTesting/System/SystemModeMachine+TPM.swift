/// The machine's TPM.
extension SystemModeMachine {
    /// Starts a chip that root and the group `tss` may use, as distributions set the device's permissions; the daemons'
    /// account is in that group, and no user is.
    ///
    /// - Returns: the chip, and the setting that names it.
    package static func startTPM() async throws -> (chip: SoftwareTPM, setting: String) {
        let chip = try await SoftwareTPM.start()
        try chip.admit(group: Group.tss)
        return (chip, "test.tpm = \(chip.tcti)")
    }
}
