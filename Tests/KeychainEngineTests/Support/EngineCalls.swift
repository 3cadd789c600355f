import KeychainEngine
import KeychainModel
import SecretMemory

/// The outcome of a look-up whose application password's key was derived.
enum CopyOutcome: ~Copyable {
    case items(EncodedItems)
    case needsAuthentication([AccessControl])
}

/// The outcome of an update whose application password's key was derived, and that the hardware has followed.
enum UpdateOutcome: Equatable {
    case updated(Int)
    case needsAuthentication([AccessControl])
}

/// Calls about items as the desk makes them: derives keys of application passwords, and waits for hardware.
extension KeychainEngine {
    func add(
        _ item: borrowing NewItem,
        group: AccessGroup,
        password: ApplicationPassword? = nil
    ) async throws(KeychainError) -> EncodedItems {
        var authorization = ItemAuthorization(applicationPassword: password)
        while true {
            let outcome = try items.add(item, group: group, authorization: authorization)
            switch consume outcome {
            case .done(let page): return page
            case .needsHardware(let page):
                await items.settle()
                return page
            case .needsUser: throw KeychainError(.internalComponent)
            case .needsKey: authorization.passwordKey = try await items.key(of: password.required)
            }
        }
    }

    func copy(
        _ query: ItemQuery,
        groups: [AccessGroup],
        authorization: ItemAuthorization,
        after cursor: ItemCursor?
    ) async throws(KeychainError) -> CopyOutcome {
        var authorization = authorization
        while true {
            let outcome = try items.copy(query, groups: groups, authorization: authorization, after: cursor)
            switch consume outcome {
            case .done(let page): return .items(page)
            case .needsHardware: throw KeychainError(.internalComponent)
            case .needsUser(let controls): return .needsAuthentication(controls)
            case .needsKey:
                let password = authorization.applicationPassword.required
                authorization.passwordKey = try await items.key(of: password)
            }
        }
    }

    func update(
        _ query: ItemQuery,
        groups: [AccessGroup],
        changes: consuming ItemChanges,
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> UpdateOutcome {
        var authorization = authorization
        if let password = authorization.applicationPassword {
            authorization.passwordKey = try await items.key(of: password)
        }
        let outcome = try items.update(
            query,
            groups: groups,
            changes: changes,
            authorization: authorization
        )
        switch consume outcome {
        case .done(let count): return .updated(count)
        case .needsHardware(let count):
            await items.settle()
            return .updated(count)
        case .needsUser(let controls): return .needsAuthentication(controls)
        case .needsKey: throw KeychainError(.internalComponent)
        }
    }

    func delete(_ query: ItemQuery, groups: [AccessGroup]) async throws(KeychainError) -> Int {
        switch try items.delete(query, groups: groups) {
        case .done(let count): return count
        case .needsHardware(let count):
            await items.settle()
            return count
        case .needsUser, .needsKey: throw KeychainError(.internalComponent)
        }
    }

    func check() async -> StoreReport { items.check() }

    func storeFaults() async -> [String] { items.storeFaults() }

    func owners() async throws(KeychainError) -> [ItemOwner] { try await items.owners() }

    func items(of group: AccessGroup) async throws(KeychainError) -> [OwnedItem] {
        try await items.items(of: group)
    }
}

/// The keybag's calls.
extension KeychainEngine {
    func state() async -> KeybagState { await keybag.state() }

    func assurance() async -> AssuranceReport { await keybag.assurance() }

    func makeRecoveryCode() throws(KeychainError) -> SecretBytes { try keybag.makeRecoveryCode() }

    func setUp(
        passcode: consuming SecretBytes,
        recoveryCode: borrowing SecretBytes,
        enrolled: Enrolment? = nil
    ) async throws(KeychainError) {
        try await keybag.setUp(passcode: passcode, recoveryCode: recoveryCode, enrolled: enrolled)
    }

    func open(passcode: borrowing SecretBytes) async throws(KeychainError) -> PasscodeOpening {
        try await keybag.open(passcode: passcode)
    }

    func open(with proof: AuthenticationProof) async throws(KeychainError) {
        try await keybag.open(with: proof)
    }

    func lock() async { await keybag.lock() }

    func changePasscode(
        to passcode: consuming SecretBytes,
        proof: AuthenticationProof
    ) async throws(KeychainError) {
        try await keybag.changePasscode(to: passcode, proof: proof)
    }

    func changeRecoveryCode(
        to code: borrowing SecretBytes,
        proof: AuthenticationProof
    ) async throws(KeychainError) {
        try await keybag.changeRecoveryCode(to: code, proof: proof)
    }

    func recover(
        code: borrowing SecretBytes,
        newPasscode: consuming SecretBytes
    ) async throws(KeychainError) {
        try await keybag.recover(code: code, newPasscode: newPasscode)
    }

    func accepts(recoveryCode: borrowing SecretBytes) async throws(KeychainError) -> Bool {
        try await keybag.accepts(recoveryCode: recoveryCode)
    }

    func observe(_ enrolment: Enrolment) async throws(KeychainError) -> EnrolmentObservation {
        try await keybag.observe(enrolment)
    }

    func repair(
        proof: AuthenticationProof,
        accepting: Bool
    ) async throws(KeychainError) -> StoreRepair {
        try await keybag.repair(proof: proof, accepting: accepting)
    }
}

/// The calls about private keys.
extension KeychainEngine {
    func makeKey(
        _ accessControl: AccessControl,
        group: AccessGroup,
        limits: KeyLimits = .none,
        applicationPassword: ApplicationPassword?
    ) async throws(KeychainError) -> EnclaveKey {
        try await keys.makeKey(
            accessControl,
            group: group,
            limits: limits,
            applicationPassword: applicationPassword
        )
    }

    func key(_ representation: [UInt8], groups: [AccessGroup]) async throws(KeychainError) -> EnclaveKey {
        try await keys.key(representation, groups: groups)
    }

    func use(
        _ representation: [UInt8],
        for use: KeyUse,
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> VaultOutcome<SecretBytes> {
        try await keys.use(representation, for: use, groups: groups, authorization: authorization)
    }

    func attest(
        _ representation: [UInt8],
        qualifyingData: [UInt8],
        groups: [AccessGroup],
        authorization: ItemAuthorization
    ) async throws(KeychainError) -> VaultOutcome<Attestation> {
        try await keys.attest(
            representation,
            qualifyingData: qualifyingData,
            groups: groups,
            authorization: authorization
        )
    }
}

/// The calls of moving.
extension KeychainEngine {
    func export(recoveryCode: borrowing SecretBytes) async throws(KeychainError) -> KeychainExport {
        try await archive.export(recoveryCode: recoveryCode)
    }

    func makeExportFile() async throws(KeychainError) -> any ExportFile { try await archive.makeExportFile() }

    func checkStart(of export: any ExportFile) async throws(KeychainError) {
        try await archive.checkStart(of: export)
    }

    func accepts(
        recoveryCode: borrowing SecretBytes,
        of export: any ExportFile
    ) async throws(KeychainError) -> Bool {
        try await archive.accepts(recoveryCode: recoveryCode, of: export)
    }

    func setUp(
        from export: any ExportFile,
        passcode: consuming SecretBytes,
        recoveryCode: borrowing SecretBytes,
        enrolled: Enrolment? = nil
    ) async throws(KeychainError) -> Int {
        try await archive.setUp(
            from: export,
            passcode: passcode,
            recoveryCode: recoveryCode,
            enrolled: enrolled
        )
    }
}

/// The calls that change items without opening them.
extension KeychainEngine {
    @discardableResult
    func replace(
        _ query: ItemQuery,
        with new: consuming ReplacingItem,
        group: AccessGroup = .ours,
        password: ApplicationPassword? = nil
    ) async throws(KeychainError) -> Replacement {
        var authorization = ItemAuthorization(applicationPassword: password)
        if let password { authorization.passwordKey = try await items.key(of: password) }
        let outcome = try items.replace(
            query,
            groups: [group],
            with: new,
            group: group,
            authorization: authorization
        )
        switch outcome {
        case .done(let replacement): return replacement
        case .needsHardware(let replacement):
            await items.settle()
            return replacement
        case .needsUser, .needsKey: throw KeychainError(.internalComponent)
        }
    }

    func erase(
        _ query: ItemQuery,
        secret: String,
        groups: [AccessGroup] = [.ours]
    ) async throws(KeychainError) -> Erasure {
        switch try items.erase(query, groups: groups, secret: .text(secret)) {
        case .done(let erasure): return erasure
        case .needsHardware(let erasure):
            await items.settle()
            return erasure
        case .needsUser, .needsKey: throw KeychainError(.internalComponent)
        }
    }
}
