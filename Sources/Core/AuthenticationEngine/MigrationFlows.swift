public import KeychainModel
public import SecretMemory

/// Moves the keychain to another machine with the recovery code alone.
extension AuthenticationEngine: KeychainMover {
    /// Asks for the recovery code and seals all exportable items; the keybag may be locked and stays so.
    public func exportKeychain(
        from archive: any KeychainArchive,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> KeychainExport {
        try await takingTurns(request) { () async throws(AuthenticationError) in
            try await self.checkRecoverable()
            return try await self.counting(request) { () async throws(AuthenticationError) in
                let code = try await self.acceptedRecoveryCode(request)
                return try await self.moving { () async throws(KeychainError) in
                    try await archive.export(recoveryCode: code.octets)
                }
            }
        }
    }

    /// Asks for the export's recovery code, then twice for a new passcode, and creates the keychain.
    public func importKeychain(
        _ export: any ExportFile,
        into archive: any KeychainArchive,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> Int {
        try await takingTurns(request) { () async throws(AuthenticationError) in
            guard await self.keybag.state() == .notSetUp else {
                throw AuthenticationError(.invalidParameter, cause: .alreadySetUp)
            }
            try await self.moving { () async throws(KeychainError) in try await archive.checkStart(of: export)
            }
            return try await self.counting(request) { () async throws(AuthenticationError) in
                let code = try await self.acceptedRecoveryCode(
                    request,
                    heading: "Type the recovery code of the keychain that is in the export",
                    refusal: "That is not the recovery code of this export."
                ) { code async throws(KeychainError) in
                    try await archive.accepts(recoveryCode: code.octets, of: export)
                }
                let heading = "Choose a passcode for the keychain on this machine"
                let passcode = try await self.newPasscode(heading, request)
                let enrolled = await self.enrolmentAtSetUp()
                return try await self.changing { _ async throws(KeychainError) in
                    try await archive.setUp(
                        from: export,
                        passcode: passcode.octets.copy(),
                        recoveryCode: code.octets,
                        enrolled: enrolled
                    )
                }
            }
        }
    }

    /// Asks for an export's recovery code; nothing is changed, whatever the state of the keybag.
    public func recoveryCode(
        of export: any ExportFile,
        in archive: any KeychainArchive,
        _ request: PromptRequest
    ) async throws(AuthenticationError) -> SecretBytes {
        let code = try await takingTurns(request) { () async throws(AuthenticationError) in
            try await self.moving { () async throws(KeychainError) in try await archive.checkStart(of: export)
            }
            return try await self.counting(request) { () async throws(AuthenticationError) in
                try await self.acceptedRecoveryCode(
                    request,
                    heading: "Type the recovery code that the backup was written under",
                    refusal: "That is not the recovery code of this backup."
                ) { code async throws(KeychainError) in
                    try await archive.accepts(recoveryCode: code.octets, of: export)
                }
            }
        }
        return code.octets.copy()
    }

    private func moving<Value: Sendable>(
        _ body: () async throws(KeychainError) -> Value
    ) async throws(AuthenticationError) -> Value {
        if let interruption { throw interruption.error }
        if Task.isCancelled { throw AuthenticationError(.appCancel) }
        do {
            return try await body()
        } catch {
            throw AuthenticationError(keychain: error)
        }
    }
}
