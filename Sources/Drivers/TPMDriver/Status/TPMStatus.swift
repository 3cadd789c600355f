import CTSS2
public import KeychainModel
public import SecretMemory

/// The chip's properties and the state of its limits.
public struct TPMStatus: Sendable, Equatable {
    /// Four characters from the TCG's list of vendors: `IFX`, `STM`, `INTC`, `AMD`; a simulator's is `IBM`.
    public var manufacturer: String
    /// The vendor's own name for the chip.
    public var vendor: String
    /// For example `7.85.4555.0`.
    public var firmware: String
    /// Whether the lockout authorisation is set; while it is empty, any program may reset the count of guesses.
    public var lockoutAuthSet: Bool
    /// Whether the owner's authorisation is set; while it is, nothing can be created in the chip without it.
    public var ownerAuthSet: Bool
    /// Whether the chip is in lockout and refuses guesses.
    public var inLockout: Bool
    /// The wrong guesses that the chip currently counts.
    public var lockoutCounter: UInt32
    /// The number of wrong guesses at which it refuses all others.
    public var maxAuthFail: UInt32
    /// The seconds after which it forgets one wrong guess; 0 turns the limit off.
    public var lockoutInterval: UInt32
    /// The seconds for which it refuses the lockout authorisation after a wrong one.
    public var lockoutRecovery: UInt32
    /// How many more NV counters can be created; the chip's estimate.
    public var freeCounters: UInt32
    /// Whether it is a software TPM, not a chip.
    public var isSimulator: Bool

    /// The guesses that the chip's own limit allows on the first day, and on each later day; nil if it has no limit.
    public var guessesPerDay: (first: UInt64, later: UInt64)? {
        guard lockoutInterval > 0, maxAuthFail > 0 else { return nil }
        let later = 86_400 / UInt64(lockoutInterval)
        return (UInt64(maxAuthFail) + later, later)
    }
}

extension TPMStatus {
    /// The strength of a keybag in this chip, with reasons.
    func assurance(treatsSimulatorAsReal: Bool) -> AssuranceReport {
        let level: Assurance =
            isSimulator && !treatsSimulatorAsReal ? .test : lockoutAuthSet ? .tpm : .tpmWeak
        var reasons: [String] = []
        if isSimulator { reasons.append("The TPM is a simulator: whoever can read its files has its keys.") }
        reasons.append(limitReason)
        reasons.append("The TPM is of the manufacturer \(manufacturer) (\(vendor)), firmware \(firmware).")
        reasons.append(
            inLockout
                ? "The TPM refuses all guesses now; it forgets one of \(lockoutCounter) every \(lockoutInterval) s."
                : "The TPM remembers \(lockoutCounter) wrong guesses of \(maxAuthFail)."
        )
        if ownerAuthSet {
            reasons.append(Self.ownerReason)
        }
        return AssuranceReport(
            level,
            reasons: reasons,
            chip: ChipVersion(manufacturer: manufacturer, model: vendor, firmware: firmware)
        )
    }

    /// The consequence of a set owner authorisation.
    static let ownerReason =
        "The TPM's owner authorization is set: no keybag can be made or opened in it until that is removed."

    private var limitReason: String {
        let own = "A keybag closes after \(TPMKeySealer.attempts) wrong passcodes"
        guard let guesses = guessesPerDay else {
            return "\(own), but the TPM's own limit on guesses is off."
        }
        let limit =
            "the TPM's own limit is \(guesses.first) guesses in the first day and \(guesses.later) on each day after"
        guard lockoutAuthSet else {
            return
                "\(own); \(limit), but the lockout authorization is empty: whoever may use the TPM can reset it."
        }
        return "\(own); \(limit)."
    }

    /// Reads the two property lists (Part 2, 6.13).
    init(fixed: [UInt32: UInt32], variable: [UInt32: UInt32]) {
        func text(_ property: UInt32) -> String {
            let octets = (fixed[property] ?? 0).bigEndianOctets
            return String(decoding: octets.filter { (0x20..<0x7F).contains($0) }, as: UTF8.self)
        }
        func trimmed(_ text: String) -> String {
            String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
        manufacturer = trimmed(text(kTPM2_PT_MANUFACTURER))
        vendor = trimmed((kTPM2_PT_VENDOR_STRING_1...kTPM2_PT_VENDOR_STRING_4).map(text).joined())
        let version = [kTPM2_PT_FIRMWARE_VERSION_1, kTPM2_PT_FIRMWARE_VERSION_2].map { fixed[$0] ?? 0 }
        firmware = version.map { "\($0 >> 16).\($0 & 0xFFFF)" }.joined(separator: ".")
        let permanent = variable[kTPM2_PT_PERMANENT] ?? 0
        lockoutAuthSet = permanent & kTPMA_PERMANENT_LOCKOUTAUTHSET != 0
        ownerAuthSet = permanent & kTPMA_PERMANENT_OWNERAUTHSET != 0
        inLockout = permanent & kTPMA_PERMANENT_INLOCKOUT != 0
        lockoutCounter = variable[kTPM2_PT_LOCKOUT_COUNTER] ?? 0
        maxAuthFail = variable[kTPM2_PT_MAX_AUTH_FAIL] ?? 0
        lockoutInterval = variable[kTPM2_PT_LOCKOUT_INTERVAL] ?? 0
        lockoutRecovery = variable[kTPM2_PT_LOCKOUT_RECOVERY] ?? 0
        freeCounters = variable[kTPM2_PT_NV_COUNTERS_AVAIL] ?? 0
        // IBM made one real TPM, of version 1.1: today the name is that of libtpms, which swtpm and virtual machines
        // run. The other is Microsoft's reference implementation.
        isSimulator =
            ["IBM", "XCG"].contains(manufacturer) || vendor.hasPrefix("SW") || vendor.contains("xCG")
    }
}

extension TPM {
    /// Reads the chip's status; one command, two the first time on a connection.
    public func status() throws(KeychainError) -> TPMStatus {
        do throws(TPMError) {
            return try withConnection { connection throws(TPMError) in
                TPMStatus(
                    fixed: try connection.fixedProperties(),
                    variable: try connection.properties(from: kTPM2_PT_VAR, count: 64)
                )
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// Sets the empty lockout authorisation: from then on, only its owner can reset the chip's count of guesses or
    /// change its limits.
    ///
    /// Never sends a guess: one wrong value would lock it for hours.
    /// - Parameter authorization: at most 32 bytes, the last one not zero; if it is lost, the chip's limits can be
    ///   changed only by clearing the chip.
    /// - Throws: ``KeychainError`` with `errSecDuplicateItem` if it is set already, `errSecParam` for a value that
    ///   the chip would shorten.
    public func setLockoutAuthorization(_ authorization: borrowing SecretBytes) throws(KeychainError) {
        let isGood = authorization.withOctets { (1...32).contains($0.count) && $0[$0.count - 1] != 0 }
        guard isGood else { throw KeychainError(.param) }
        var wasSent = false
        do throws(TPMError) {
            try withConnection { connection throws(TPMError) in
                let permanent = try connection.properties(from: kTPM2_PT_PERMANENT, count: 1)
                guard (permanent[kTPM2_PT_PERMANENT] ?? 0) & kTPMA_PERMANENT_LOCKOUTAUTHSET == 0 else {
                    // The command was executed, but its response was lost with the connection.
                    if wasSent { return }
                    throw .lockoutAuthorizationSet
                }
                wasSent = true
                try connection.changeLockoutAuthorization(authorization)
            }
        } catch {
            throw KeychainError(error)
        }
    }
}

extension TPMConnection {
    fileprivate func changeLockoutAuthorization(_ authorization: borrowing SecretBytes) throws(TPMError) {
        var value = TPM2B_AUTH()
        defer { TPM2B.wipe(&value) }
        try TPM2B.set(&value, authorization)
        let session = try session(.command)
        try send {
            unsafe Esys_HierarchyChangeAuth(
                $0.pointer,
                ESYS_TR_RH_LOCKOUT,
                session,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                &value
            )
        }
    }
}
