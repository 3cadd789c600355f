import KeychainModel
import SecretMemory

/// Calls that move a keychain: an export goes out, and comes in, in parts that are sealed already.
extension RequestHandler {
    /// Asks for the recovery code and answers part after part.
    func exportKeychain(_ prompt: PromptFields, head: ReplyHead, reply: @escaping Reply) async throws {
        let migration = try migration(prompt)
        let export: KeychainExport
        let progress = progress { done, total in
            let part = ExportPart(progress: ProgressBody(done: done, total: total))
            try reply(ReplyHead(id: head.id, more: true).message(part))
        }
        do {
            export = try await WorkProgress.$current.withValue(progress) {
                try await migration.mover.exportKeychain(
                    from: migration.archive,
                    prompt.request(by: caller)
                )
            }
        } catch let error as AuthenticationError {
            throw KeychainError(asEnded(error))
        }
        let total = export.file.count
        var offset = 0
        while offset < total {
            // A reply lies in locked memory while it is sent.
            guard let room = await budget.reserveWhenFree(LockedMemoryBudget.pageCost) else {
                throw KeychainError(asEnded(AuthenticationError(.appCancel)))
            }
            let octets = try export.file.read(from: offset, upTo: MigrationLimits.partOctets)
            let part = ExportPart(total: total, octets: octets)
            try reply(ReplyHead(id: head.id, more: true).message(part))
            offset += octets.count
            withExtendedLifetime(room) {}
            // Lets the connection see whether its client still wants the rest.
            await Task.yield()
        }
        try reply(head.message(ExportPart(total: total, report: export.report)))
    }

    /// Takes the next part of an export; the first one starts anew.
    func takeImport(_ part: ImportPart) async throws(KeychainError) {
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

    /// Makes the keychain of what came; it is let go whatever comes of it.
    func importKeychain(_ prompt: PromptFields) async throws(KeychainError) -> Int {
        let migration = try migration(prompt)
        let arrived = arriving.withLock { $0.take() }
        guard let arrived else { throw KeychainError(.param, cause: .exportParts) }
        do throws(AuthenticationError) {
            return try await migration.mover.importKeychain(
                arrived,
                into: migration.archive,
                prompt.request(by: caller)
            )
        } catch {
            throw KeychainError(asEnded(error))
        }
    }

    private func migration(_ prompt: PromptFields) throws(KeychainError) -> KeychainServices.Migration {
        guard let migration = services.migration else { throw KeychainError(.unimplemented) }
        guard prompt.interactionAllowed else { throw KeychainError(AuthenticationError(.notInteractive)) }
        return migration
    }
}
