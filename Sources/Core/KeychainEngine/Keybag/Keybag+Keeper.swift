public import KeychainModel
internal import Primitives
public import SecretMemory

extension Keybag: KeybagKeeper {
    /// The longest passcode, in bytes.
    static let longestPasscode = 1024

    /// The keybag's state.
    public func state() -> KeybagState {
        lookAgain()
        if standing.isFileDamaged { return .damaged }
        return switch standing {
        case .notSetUp: .notSetUp
        case .damaged: .damaged
        case .locked: .locked
        case .halfOpen: .lockedAfterFirstUnlock
        case .open: .unlocked
        }
    }

    /// The strength of its protection and the reasons.
    public func assurance() async -> AssuranceReport {
        let report = await sealer.assurance(of: record?.blob)
        var reasons: [String] = []
        if let cost = record?.cost ?? requestedCost, cost.isBelowFloor {
            reasons.append("The passcode's derivation is reduced for tests (N = 2^\(cost.roundsExponent)).")
        }
        if isForTests {
            reasons.append("Test parts are configured.")
        } else if record?.assurance == .test, report.assurance > .test {
            reasons.append("The keybag was made with test parts.")
        }
        let owed = owedByHardware
        guard !reasons.isEmpty else {
            return AssuranceReport(report.assurance, reasons: report.reasons + owed, chip: report.chip)
        }
        return AssuranceReport(.test, reasons: reasons + report.reasons + owed, chip: report.chip)
    }

    /// The hardware's count of wrong passcodes; nil if the hardware does not count, or while the keybag is being changed.
    public func countedPasscodeFailures() async throws(KeychainError) -> Int? {
        guard !isBusy, let record else { return nil }
        return try await sealer.countedFailures(of: record.blob)
    }

    /// Opens the keybag with a passcode.
    public func open(passcode: borrowing SecretBytes) async throws(KeychainError) -> PasscodeOpening {
        guard (1...Self.longestPasscode).contains(passcode.count) else { return .wrong }
        let passcode = Key(passcode.copy())
        await enterKeybag()
        defer { leaveKeybag() }
        let stored = try storedKeybag()
        var record = stored.record
        let stretched = await PasscodeDerivation.derive(passcode, salt: record.salt, cost: record.cost)
        let authorization = KeybagKeys.sealAuthorization(stretched: stretched, storeID: record.storeID)
        let device: Key
        do throws(KeychainError) {
            device = Key(try await sealer.unseal(record.blob, authorization: authorization.copy()))
        } catch {
            // Exhausted hardware is not a wrong passcode.
            guard error.status == .authFailed, error.cause != .exhausted else { throw error }
            return .wrong
        }
        let wrapping = KeybagKeys.passcodeKey(stretched: stretched, device: device, storeID: record.storeID)
        guard
            let keybagKey = KeybagKeys.unwrap(
                record.passcodeWrap,
                KeybagKeys.byPasscode,
                in: record,
                with: wrapping
            )
        else { return .wrong }
        let constraint = KeybagKeys.constraintKey(passcodeKey: wrapping, storeID: record.storeID)
        guard
            let privateKey = KeybagKeys.unwrap(
                record.passcodePrivateWrap,
                KeybagKeys.privateByPasscode,
                in: record,
                with: constraint
            )
        else { throw noteDamage() }
        try await verify(stored, keybagKey, privateKey)
        if isMigrating {
            try await migrate(&record, stretched, keybagKey, privateKey)
        } else {
            try await unlock(record, with: keybagKey)
        }
        if await sealer.assurance(of: record.blob).assurance < record.assurance {
            report(.assuranceLowered, detail: record.assurance.name)
        }
        report(.keybagUnlocked, factors: [.passcode])
        return .opened(PasscodeKey(privateKey.copy()))
    }

    /// Wipes the keys that must not stay in memory after a lock.
    public func lock() {
        guard standing.lock() else { return }
        items.purgeNow()
        report(.keybagLocked)
    }

    /// Makes the next right passcode move the keybag to this machine's best seal.
    public func migrateAtNextOpening() async throws(KeychainError) {
        guard let record else { throw standing.refusal }
        guard await !sealer.isBest(record.blob) else {
            throw KeychainError(.param, cause: DriverCause(domain: "keybag", code: "best seal already"))
        }
        isMigrating = true
    }

    /// Cancels a migration that did not happen.
    public func abandonMigration() { isMigrating = false }

    /// Replaces the passcode, all or nothing.
    public func changePasscode(
        to passcode: consuming SecretBytes,
        proof: AuthenticationProof
    ) async throws(KeychainError) {
        let passcode = try Self.acceptable(passcode)
        await enterKeybag()
        defer { leaveKeybag() }
        let former = try authenticRecord()
        guard let keybagKey = standing.keybagKey else { throw .locked }
        let secret = try Self.privateKey(of: proof, for: former)
        // New counters accept the items as current, which cannot be verified for items that are unreadable or older.
        if let fault = items.fault, former.hardware != nil { throw fault }
        let binding = try await bind(
            passcode,
            keybagKey,
            secret,
            replacing: former,
            storeID: former.storeID,
            cost: former.cost
        )
        // Keep changes made while the passcode was derived.
        var record = try authenticRecord()
        binding.apply(to: &record)
        try await replace(former, with: &record, keybagKey: keybagKey)
        // Lost with the hardware that held its epoch: the next observation creates a new key.
        if record.needsCurrentSetKey { standing.setCurrentSetKey(nil) }
        if let counted = try await hardwareGeneration(of: record), counted == record.hardware?.adoptsAt {
            try await compareGenerations(with: counted, adopting: true)
        }
        await complete()
        report(.passcodeChanged)
    }

    /// Opens the keybag with its recovery code and sets a new passcode.
    public func recover(
        code: borrowing SecretBytes,
        newPasscode: consuming SecretBytes
    ) async throws(KeychainError) {
        let passcode = try Self.acceptable(newPasscode)
        guard let code = RecoveryCode.parse(code) else {
            throw KeychainError(.authFailed, cause: .mistypedRecoveryCode)
        }
        await enterKeybag()
        defer { leaveKeybag() }
        let recovered = try await openWithRecovery(code)
        let former = recovered.record
        let (keybagKey, privateKey) = (recovered.keybagKey, recovered.privateKey)
        try restoreDeviceKey(isDoubted: !recovered.isIntact)
        let record = try await resealed(former, for: passcode, keybagKey, privateKey)
        // The counts were authenticated with the device key: if that is new, or they are damaged, reset them.
        if !recovered.isIntact || (try? attempts.load()) == nil { try attempts.reset() }
        try await unlock(record, with: keybagKey, isRecovered: true)
        report(.keybagRecovered)
    }

    /// Whether a keybag can be read, intact or damaged.
    public func isRecoverable() async -> Bool { (try? readKeybag())?.keybags.isEmpty == false }
}

extension Keybag {
    /// The private key for items constrained to the passcode; the proof counts by the key it holds, not by its claim.
    ///
    /// - Throws: ``KeychainError`` with `errSecAuthFailed` if it holds another one or none.
    static func privateKey(
        of proof: AuthenticationProof,
        for record: KeybagRecord
    ) throws(KeychainError) -> Key {
        guard let key = proof.passcodeKey,
            PasscodeConstraint.publicKey(of: key) == record.passcodePublicKey
        else { throw KeychainError(.authFailed) }
        return key.withOctets { Key(SecretBytes(copying: $0)) }
    }

    static func acceptable(_ passcode: consuming SecretBytes) throws(KeychainError) -> Key {
        guard (1...longestPasscode).contains(passcode.count) else { throw KeychainError(.param) }
        return Key(passcode)
    }
}

extension DriverCause {
    /// The keybag was created without test parts, and this daemon has some.
    public static let notForTests = DriverCause(domain: "keybag", code: "not for tests")
}

extension KeychainError {
    static var notSetUp: KeychainError {
        KeychainError(.notAvailable, cause: .notSetUp, remedy: .setPasscode)
    }

    static var alreadySetUp: KeychainError { KeychainError(.duplicateItem, cause: .alreadySetUp) }
}
