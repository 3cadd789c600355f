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
            try await send(try await export(prompt), deliver)
        }
    }

    /// Authenticates the user as the setting `backup-require` says, and delivers a backup part by part; reports progress to
    /// ``WorkProgress/current``.
    ///
    /// Only for the daemon's own command. A keychain that was not unlocked since the start is unlocked.
    /// - Parameters:
    ///   - prompt: how to prompt.
    ///   - request: the call's number.
    ///   - deliver: as of ``exportKeychain(_:deliver:)``.
    /// - Returns: false if `deliver` did.
    /// - Throws: ``KeychainError``, possibly after some parts.
    package func backUp(
        _ prompt: PromptFields,
        request: UInt64,
        deliver: (_ part: ExportPart, _ isLast: Bool) -> Bool
    ) async throws(KeychainError) -> Bool {
        try await serving(.backUp) { () async throws(KeychainError) in
            guard let archive = services.migration?.archive else { throw KeychainError(.unimplemented) }
            try requireCommand()
            let context = try contexts.enter(nil, request: request)
            defer { contexts.leave(context, request: request) }
            switch services.backupRequirement {
            case .nothing: break
            case .either: _ = try await authenticate(.policy(.deviceOwner), in: context, prompt: prompt)
            case .passcode:
                let heading = "Enter the keychain's passcode to back it up"
                _ = try await asking { () async throws(AuthenticationError) in
                    try await services.authenticator.confirm(self.request(prompt), heading: heading)
                }
                try requireSameAsker()
            }
            var prompts = PromptBudget(context: context, request: request, prompt: prompt)
            let backup = try await unlocking(&prompts) { () async throws(KeychainError) in
                try await archive.backUp()
            }
            return try await send(backup, deliver)
        }
    }

    private func send(
        _ export: KeychainExport,
        _ deliver: (_ part: ExportPart, _ isLast: Bool) -> Bool
    ) async throws(KeychainError) -> Bool {
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

    // MARK: Reading and merging

    /// Prompts for the recovery code of the uploaded export, and reads it or merges it into the keychain.
    ///
    /// A merge prompts for the keychain's passcode too. Reports progress to ``WorkProgress/current``. Only for the daemon's own
    /// command: the names of all programs' items are told.
    /// - Parameters:
    ///   - body: what to do.
    ///   - deliver: sends items, with whether they are the last ones; returns false to end the call.
    /// - Returns: false if `deliver` did; the parts of a merge that were delivered stay stored.
    /// - Throws: ``KeychainError``, possibly after some parts.
    package func openExport(
        _ body: ExportRequest,
        deliver: (_ items: ExportItems, _ isLast: Bool) -> Bool
    ) async throws(KeychainError) -> Bool {
        try await serving(.openExport) { () async throws(KeychainError) in
            let work = try await work(body)
            defer { if body.merge != nil { desk.watchers.tellItems(in: nil) } }
            while let items = try await work.next() {
                guard !Task.isCancelled else { throw KeychainError(asEnded(AuthenticationError(.appCancel))) }
                guard let room = await memory.longReplies.reserveWhenFree(LockedMemoryBudget.pageCost) else {
                    throw KeychainError(asEnded(AuthenticationError(.appCancel)))
                }
                guard items.isEmpty || deliver(ExportItems(items), false) else { return false }
                withExtendedLifetime(room) {}
                await Task.yield()
            }
            return deliver(ExportItems(), true)
        }
    }

    private func work(_ body: ExportRequest) async throws(KeychainError) -> any ExportWork {
        let migration = try migration(body.prompt)
        try requireCommand()
        let arrived = arriving.withLock { $0.take() }
        guard let arrived else { throw KeychainError(.param, cause: .exportParts) }
        if body.merge != nil, await services.keybag.state() == .notSetUp { throw Self.notSetUp }
        let code = try await asking { () async throws(AuthenticationError) in
            try await migration.mover.recoveryCode(of: arrived, in: migration.archive, request(body.prompt))
        }
        try requireSameAsker()
        guard let merge = body.merge else {
            return try migration.archive.read(arrived, recoveryCode: code)
        }
        let proof = try await asking { () async throws(AuthenticationError) in
            try await services.authenticator.confirm(
                request(body.prompt),
                heading: "Enter the keychain's passcode to merge the backup into it"
            )
        }
        try requireSameAsker()
        let detail = "merge of a backup, in a conflict: \(merge.conflicts)"
        services.audit.record(AuditEvent(.itemsMoved, caller: caller, detail: detail))
        return try migration.archive.merge(arrived, recoveryCode: code, proof: proof, merge)
    }

    private func migration(_ prompt: PromptFields) throws(KeychainError) -> KeychainServices.Migration {
        guard let migration = services.migration else { throw KeychainError(.unimplemented) }
        guard prompt.interactionAllowed else { throw KeychainError(AuthenticationError(.notInteractive)) }
        return migration
    }
}
