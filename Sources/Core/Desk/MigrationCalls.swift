package import KeychainModel
import SecretMemory

/// Calls that move a keychain: an export is sent and received in parts that are already sealed.
extension Visit {
    /// Prompts for the recovery code and delivers the export part by part; reports progress to ``WorkProgress/current``.
    ///
    /// - Parameters:
    ///   - prompt: how to prompt.
    ///   - deliver: sends a part, with whether it is the last one, which has the report; returns false to end the call.
    /// - Returns: false if `deliver` did.
    /// - Throws: ``KeychainError``, possibly after some parts.
    package func exportKeychain(
        _ prompt: PromptFields,
        deliver: (_ part: ExportPart, _ isLast: Bool) -> Bool
    ) async throws(KeychainError) -> Bool {
        try await serving(.exportKeychain) { () async throws(KeychainError) in
            let export = try await export(prompt)
            let total = export.file.count
            var offset = 0
            while offset < total {
                // A part is in locked memory while it is sent.
                guard let room = await memory.longReplies.reserveWhenFree(LockedMemoryBudget.pageCost) else {
                    throw KeychainError(asEnded(AuthenticationError(.appCancel)))
                }
                let octets = try export.file.read(from: offset, upTo: MigrationLimits.partOctets)
                guard deliver(ExportPart(total: total, octets: octets), false) else { return false }
                offset += octets.count
                withExtendedLifetime(room) {}
                // Lets the door check whether its caller still wants the rest.
                await Task.yield()
            }
            return deliver(ExportPart(total: total, report: export.report), true)
        }
    }

    private func export(_ prompt: PromptFields) async throws(KeychainError) -> KeychainExport {
        let migration = try migration(prompt)
        return try await asking { () async throws(AuthenticationError) in
            try await migration.mover.exportKeychain(from: migration.archive, request(prompt))
        }
    }

    /// Appends the next part of an export; a part at offset 0 starts a new upload.
    package func takeImport(_ part: ImportPart) async throws(KeychainError) {
        try await serving(.sendImport) { () async throws(KeychainError) in try await take(part) }
    }

    private func take(_ part: ImportPart) async throws(KeychainError) {
        guard let archive = services.migration?.archive else { throw KeychainError(.unimplemented) }
        let file: any ExportFile
        if part.offset == 0 {
            file = try await archive.makeExportFile()
            arriving.withLock { $0 = file }
        } else {
            guard let former = arriving.withLock({ $0 }), former.count == part.offset else {
                throw KeychainError(.param, cause: .exportParts)
            }
            file = former
        }
        try file.append(part.octets)
    }

    /// Creates the keychain from the uploaded export; the upload is discarded on success and failure.
    ///
    /// Reports progress to ``WorkProgress/current``.
    /// - Returns: the number of imported items.
    package func importKeychain(_ prompt: PromptFields) async throws(KeychainError) -> Int {
        try await serving(.importKeychain) { () async throws(KeychainError) in try await makeKeychain(prompt)
        }
    }

    private func makeKeychain(_ prompt: PromptFields) async throws(KeychainError) -> Int {
        let migration = try migration(prompt)
        let arrived = arriving.withLock { $0.take() }
        guard let arrived else { throw KeychainError(.param, cause: .exportParts) }
        return try await asking { () async throws(AuthenticationError) in
            try await migration.mover.importKeychain(
                arrived,
                into: migration.archive,
                request(prompt)
            )
        }
    }

    private func migration(_ prompt: PromptFields) throws(KeychainError) -> KeychainServices.Migration {
        guard let migration = services.migration else { throw KeychainError(.unimplemented) }
        guard prompt.interactionAllowed else { throw KeychainError(AuthenticationError(.notInteractive)) }
        return migration
    }
}
