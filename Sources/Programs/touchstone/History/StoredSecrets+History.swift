import Glibc
import KeychainClient
import KeychainModel
import SecretMemory

/// The values that secrets had before they were replaced or deleted.
extension StoredSecrets {
    // MARK: The setting

    /// What the keychain keeps; nil for nothing.
    ///
    /// - Parameters:
    ///   - reason: the reason in the prompt, which a locked keychain needs.
    ///   - context: the context in which a passcode counts that unlocks the keychain; nil for one of its own.
    /// - Returns: the setting.
    /// - Throws: ``CommandError``, also for a stored setting that cannot be read.
    func historySetting(
        reason: String = "Look up what is kept.",
        context: UInt64? = nil
    ) throws(CommandError) -> HistorySetting? {
        do throws(KeychainError) {
            let query = ItemQuery(
                itemClass: .genericPassword,
                attributes: HistorySetting.attributes,
                returns: .attributes
            )
            let results = try keychain.copy(
                CopyItems(query: query, context: context, prompt: prompt(reason))
            )
            guard case .string(let text)? = results.first()?.attributes?[.comment],
                let setting = HistorySetting(text: text)
            else { throw KeychainError(.decode, cause: .damaged) }
            return setting
        } catch {
            if error.status == .itemNotFound { return nil }
            throw ErrorText.describe(error)
        }
    }

    /// Keeps values from now on as `setting` says; nil keeps none.
    func setHistory(_ setting: HistorySetting?) throws(CommandError) {
        let query = ItemQuery(itemClass: .genericPassword, attributes: HistorySetting.attributes)
        let reason = "Change which values are kept."
        do throws(KeychainError) {
            guard let setting else {
                do throws(KeychainError) {
                    _ = try keychain.delete(DeleteItems(query: query, prompt: prompt(reason)))
                } catch {
                    guard error.status == .itemNotFound else { throw error }
                }
                return
            }
            var attributes = HistorySetting.attributes
            attributes[.comment] = .string(setting.text)
            _ = try keychain.replace(
                ReplaceItem(
                    query: query,
                    itemClass: .genericPassword,
                    attributes: attributes,
                    accessControl: AccessControl(accessibility: .afterFirstUnlock),
                    data: nil,
                    prompt: prompt(reason)
                )
            )
        } catch {
            throw ErrorText.describe(error)
        }
    }

    // MARK: Kept values

    /// All kept values that have not ended, the newest first.
    func keptValues(
        interactionAllowed: Bool = true,
        context: UInt64? = nil
    ) throws(CommandError) -> [KeptValue] {
        do throws(KeychainError) {
            let query = ItemQuery(
                itemClass: .genericPassword,
                attributes: [.service: .string(KeptValue.service)],
                limit: .all,
                returns: [.attributes, .persistentRef, .invalidated]
            )
            let results = try keychain.copy(
                CopyItems(
                    query: query,
                    context: context,
                    prompt: prompt("List the values that are kept.", interactionAllowed: interactionAllowed)
                )
            )
            let now = Self.now
            return secrets(of: results).compactMap { KeptValue($0) }.filter { $0.end > now }
                .sorted { $0.time > $1.time }
        } catch {
            if error.status == .itemNotFound { return [] }
            throw ErrorText.describe(error)
        }
    }

    /// The kept values of a secret, also from before it was renamed; the newest first.
    func keptValues(of name: ItemName, context: UInt64? = nil) throws(CommandError) -> [KeptValue] {
        let all = try keptValues(context: context)
        guard !all.isEmpty else { return [] }
        let owner = try findIfThere(name, context: context)?.reference?.octets
        return all.filter { $0.owner == owner || $0.name == name.text }
    }

    /// One kept value, by its number from 1, the newest.
    func keptValue(_ number: Int, of name: ItemName, context: UInt64) throws(CommandError) -> KeptValue {
        let kept = try keptValues(of: name, context: context)
        guard kept.isEmpty else {
            guard kept.indices.contains(number - 1) else {
                throw CommandError(
                    "'\(name.text)' has \(kept.count == 1 ? "one kept value" : "\(kept.count) kept values")",
                    hint: "touchstone history \(ShellWord.argument(name.text))",
                    exitCode: .notFound
                )
            }
            return kept[number - 1]
        }
        throw try nothingKept(of: name, context: context)
    }

    /// The error for a secret of which nothing is kept.
    func nothingKept(of name: ItemName, context: UInt64? = nil) throws(CommandError) -> CommandError {
        let isOn = try historySetting(context: context) != nil
        return CommandError(
            "no earlier value of '\(name.text)' is kept",
            hint: isOn
                ? "touchstone history names what is kept"
                : "touchstone history --keep \(HistorySetting.usual.keep) keeps values from now on",
            exitCode: .notFound
        )
    }

    /// Releases a kept value.
    func read(_ kept: KeptValue, reason: String, context: UInt64) throws(CommandError) -> SecretBytes {
        do throws(KeychainError) {
            guard let reference = kept.item.reference else { throw KeychainError(.itemNotFound) }
            let query = ItemQuery(itemClass: .genericPassword, returns: .data, references: [reference])
            return try release(query, reason: reason, context: context)
        } catch {
            throw ErrorText.describe(error, name: try? ItemName(argument: kept.name))
        }
    }

    /// Deletes kept values for good.
    func delete(_ kept: [KeptValue]) throws(CommandError) {
        // As many as are deleted together.
        var rest = kept.compactMap { $0.item.reference }[...]
        while !rest.isEmpty {
            do throws(KeychainError) {
                let query = ItemQuery(
                    itemClass: .genericPassword,
                    limit: .all,
                    returns: .invalidated,
                    references: Array(rest.prefix(512))
                )
                _ = try keychain.delete(DeleteItems(query: query, prompt: prompt("Delete kept values.")))
            } catch {
                // The daemon ends them too.
                guard error.status == .itemNotFound else { throw ErrorText.describe(error) }
            }
            rest = rest.dropFirst(512)
        }
    }

    /// Deletes what a setting does not keep any more.
    func prune(_ setting: HistorySetting) throws(CommandError) {
        let now = Self.now
        var (owners, names): ([[UInt8]: Int], [String: Int]) = ([:], [:])
        let excess = try keptValues().filter { kept in
            owners[kept.owner, default: 0] += 1
            names[kept.name, default: 0] += 1
            let count = max(owners[kept.owner, default: 0], names[kept.name, default: 0])
            return count > setting.keep || setting.end(from: kept.time) <= now
        }
        try delete(excess)
    }

    // MARK: Changes

    /// What a change of a secret's value is to keep.
    struct Keeping {
        let setting: HistorySetting
        let attributes: ItemAttributes
    }

    /// What a change of a secret keeps; nil for nothing, also if there is no such secret.
    func keeping(
        _ name: ItemName,
        _ change: KeptValue.Change,
        reason: String,
        context: UInt64? = nil
    ) throws(CommandError) -> Keeping? {
        guard let setting = try historySetting(reason: reason, context: context),
            let secret = try findIfThere(name, context: context), secret.invalidated == nil,
            let reference = secret.reference
        else { return nil }
        return Keeping(
            setting: setting,
            attributes: KeptValue.attributes(of: name, reference, change, at: Self.now, setting)
        )
    }

    /// Deletes secrets, and keeps their values as the setting says; a lost one is deleted for good.
    ///
    /// What the secrets require is asked for before the first one is deleted.
    /// - Returns: until when they are kept, in microseconds since 1970; nil if the keychain keeps none, and nothing was done.
    func discard(_ names: [ItemName]) throws(CommandError) -> Int64? {
        let context = keychain.makeContextNumber()
        let reason =
            if let only = names.first, names.count == 1 { "Delete '\(only.text)'." } else {
                "Delete \(names.count) secrets."
            }
        guard let setting = try historySetting(reason: reason, context: context) else { return nil }
        var (kept, lost): ([(ItemName, PersistentReference)], [ItemName]) = ([], [])
        for name in names {
            let secret = try find(name, context: context)
            guard let reference = secret.reference, secret.invalidated == nil else {
                lost.append(name)
                continue
            }
            if !kept.contains(where: { $0.1 == reference }) { kept.append((name, reference)) }
        }
        var deleted: [ItemName] = []
        do throws(KeychainError) {
            if !kept.isEmpty {
                _ = try passcodeFirst(reason) { () throws(KeychainError) in
                    try update(kept.map(\.1), context: context, prompt(reason))
                }
            }
            for (name, reference) in kept {
                let attributes = KeptValue.attributes(of: name, reference, .deleted, at: Self.now, setting)
                _ = try update([reference], attributes: attributes, context: context, prompt(reason))
                deleted.append(name)
            }
        } catch {
            let described = ErrorText.describe(error, name: kept.count == 1 ? kept.first?.0 : nil)
            guard deleted.isEmpty else {
                throw CommandError(
                    "\(described.message); \(deleted.count) of \(kept.count) secrets are deleted",
                    hint: "touchstone undo \(ShellWord.argument(deleted[0].text)) brings the first one back",
                    exitCode: described.exitCode
                )
            }
            throw CommandError(
                described.message,
                hint:
                    "to delete without keeping the value, which needs no prompt: touchstone delete --for-good",
                exitCode: described.exitCode
            )
        }
        for name in lost { _ = try deleteForGood([name]) }
        try prune(setting)
        return setting.end(from: Self.now)
    }

    /// Brings a kept value back, with what it required; the present value is kept in its place.
    ///
    /// - Returns: whether a deleted secret is there again.
    func restore(_ kept: KeptValue, as name: ItemName, context: UInt64) throws(CommandError) -> Bool {
        let reason = "Bring an earlier value of '\(name.text)' back."
        let secret = try read(kept, reason: reason, context: context)
        let rule = kept.item.accessControl
        let isDeleted = try findIfThere(name, context: context) == nil
        if isDeleted {
            try add(name, secret, rule)
        } else {
            try replace(name, secret, rule, context: context)
        }
        try delete([kept])
        return isDeleted
    }

    /// Microseconds since 1970.
    static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
