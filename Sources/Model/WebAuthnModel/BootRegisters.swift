/// The TPM's registers that describe what a machine was started with, of which a server asks a signed digest.
///
/// PCRs 0 to 7: the firmware, its settings, option ROMs, the boot loader, its configuration and the partition table, and the
/// policy of Secure Boot (TCG PC Client Platform Firmware Profile, section 3.3.4). What the kernel and its command line are is
/// in them only as far as the boot loader is measured; PCRs 8 and higher change with each kernel, so they are left out.
public enum BootRegisters {
    /// The numbers of the registers.
    public static let numbers: ClosedRange<UInt8> = 0...7
    /// One bit for each of the first eight registers, the lowest for PCR 0.
    public static let mask: UInt8 = numbers.reduce(0) { $0 | 1 << $1 }
    /// TPML_PCR_SELECTION (TPM 2.0 Part 2, section 10.9.7): these registers in the bank of SHA-256, and no others.
    public static let selection: [UInt8] = [0, 0, 0, 1, 0, 0x0B, 3, mask, 0, 0]
    /// The bytes of a digest of them.
    public static let digestCount = 32
}
