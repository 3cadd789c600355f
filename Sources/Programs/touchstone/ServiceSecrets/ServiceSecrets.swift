import KeychainClient
import KeychainModel
import SecretMemory
import SecretServiceModel

/// The secrets that other programs keep here by the Secret Service, and the rules for them.
struct ServiceSecrets {
    /// The most secrets that are changed together.
    private static let mostAtOnce = 512

    let keychain: RemoteKeychain

    init(keychain: RemoteKeychain = .shared) { self.keychain = keychain }

    // MARK: Looking

    /// The secrets that have at least these attributes, the newest first.
    func items(having pairs: [String: String] = [:]) throws(CommandError) -> [SecretItem] {
        var items: [SecretItem] = []
        try read(SecretItem.stored(pairs), "List the secrets of other programs.") {
            attributes,
            reference in
            if let item = SecretItem(attributes, reference), !SecretRecords.isRecord(item.collection) {
                items.append(item)
            }
        }
        return items.sorted { $0.precedes($1) }
    }

    /// The rules, the most special ones first.
    func rules() throws(CommandError) -> [ProtectionRule] {
        var rules: [ProtectionRule] = []
        try read([.service: .string(SecretRecords.rules)], "List the rules for secrets.") {
            attributes,
            reference in
            if let rule = ProtectionRule(attributes, reference) { rules.append(rule) }
        }
        return rules.sorted { ($0.attributes.count, $0.name) > ($1.attributes.count, $1.name) }
    }

    /// The secrets of these names, or of names that begin so.
    ///
    /// - Throws: ``CommandError`` if one means none or several.
    func items(named names: [String]) throws(CommandError) -> [SecretItem] {
        guard !names.isEmpty else { return [] }
        let all = try items()
        return try names.map { name throws(CommandError) in
            let found = all.filter { $0.name.hasPrefix(name) }
            guard let item = found.first else {
                throw CommandError(
                    "there is no secret '\(name)' of another program",
                    hint: "touchstone secrets list",
                    exitCode: .notFound
                )
            }
            guard found.count == 1 else {
                throw CommandError(
                    "'\(name)' begins the names of \(found.count) secrets",
                    hint: "write more of the name: touchstone secrets list"
                )
            }
            return item
        }
    }

    private func read(
        _ attributes: ItemAttributes,
        _ reason: String,
        _ body: (ItemAttributes, PersistentReference) -> Void
    ) throws(CommandError) {
        var query = ItemQuery(
            itemClass: .genericPassword,
            attributes: attributes,
            limit: .all,
            returns: [.attributes, .persistentRef]
        )
        query.attributes[.accessGroup] = .string(AccessGroup.secretService.name)
        do throws(KeychainError) {
            let request = CopyItems(query: query, prompt: prompt(reason))
            let results = try keychain.copy(request)
            results.forEach { result in
                guard let attributes = result.attributes, let reference = result.reference else { return }
                body(attributes, reference)
            }
        } catch {
            guard error.status != .itemNotFound else { return }
            throw ErrorText.describe(error)
        }
    }

    // MARK: Changing

    /// Changes what reading secrets requires, all or none, without reading them.
    ///
    /// - Returns: how many were changed; those that required it already stay as they are.
    func require(
        _ requirement: Requirement,
        _ reading: ReadingOptions,
        of items: [SecretItem]
    ) throws(CommandError) -> Int {
        let changed = items.filter { item in
            (item.rule.map { Requirement($0) != requirement } ?? (requirement != .nothing))
                || item.reading != reading
        }
        guard let first = changed.first else { return 0 }
        guard changed.count <= Self.mostAtOnce else {
            throw CommandError(
                "\(changed.count) secrets match, and at most \(Self.mostAtOnce) are changed together",
                hint: "name more of their attributes with --match"
            )
        }
        let what =
            changed.count == 1
            ? PromptDetails.quoted(first.content.label, atMost: 60)
            : "\(changed.count) secrets of other programs"
        do throws(KeychainError) {
            let rule = try requirement.accessControl(.afterFirstUnlock)
            return try keychain.update(
                UpdateItems(
                    query: query(changed.map(\.reference)),
                    attributes: reading.attributes,
                    // Also where it is the same: whoever changes how the gesture is asked for has to give it.
                    accessControl: rule,
                    data: nil,
                    context: keychain.makeContextNumber(),
                    prompt: prompt("Change what \(what) will require: \(requirement.rawValue).")
                )
            )
        } catch {
            if requirement == .finger, let unbound = ErrorText.describeUnbound(error, count: changed.count) {
                throw unbound
            }
            throw ErrorText.describe(error)
        }
    }

    /// Sets the rule for secrets with these attributes, in place of the one for the same attributes and programs.
    func setRule(
        _ requirement: Requirement,
        _ reading: ReadingOptions,
        for attributes: [String: String],
        programs: [String] = []
    ) throws(CommandError) {
        let present = try rules()
        let same = present.first { $0.attributes == attributes && $0.programs == programs }
        guard same != nil || present.count < ProtectionRule.most else {
            throw CommandError(
                "there are \(present.count) rules already",
                hint: "touchstone unprotect --match NAME=VALUE ends one"
            )
        }
        do throws(KeychainError) {
            let rule = ProtectionRule(
                name: same?.name ?? Hexadecimal.text(RandomBytes.array(count: 16)),
                attributes: attributes,
                accessControl: try requirement.accessControl(.afterFirstUnlock),
                reading: reading,
                programs: programs
            )
            let prompt = prompt("Store a rule for secrets of other programs.")
            if let same {
                let change = UpdateItems(
                    query: Self.query(for: same),
                    attributes: reading.attributes.merging([
                        .generic: .data(rule.accessControl.encoded)
                    ]) { $1 },
                    accessControl: nil,
                    data: nil,
                    prompt: prompt
                )
                try keychain.update(change)
            } else {
                let item = AddItem(
                    itemClass: .genericPassword,
                    attributes: rule.stored,
                    accessControl: AccessControl(accessibility: .afterFirstUnlock),
                    data: nil,
                    prompt: prompt
                )
                _ = try keychain.add(item)
            }
        } catch {
            throw ErrorText.describe(error)
        }
    }

    /// Ends the rule for secrets with these attributes and these programs; false if there is none.
    func endRule(for attributes: [String: String], programs: [String] = []) throws(CommandError) -> Bool {
        guard
            let rule = try rules().first(where: { $0.attributes == attributes && $0.programs == programs })
        else { return false }
        do throws(KeychainError) {
            let prompt = prompt("End a rule for secrets of other programs.")
            try keychain.delete(DeleteItems(query: Self.query(for: rule), prompt: prompt))
        } catch {
            guard error.status == .itemNotFound else { throw ErrorText.describe(error) }
        }
        return true
    }

    private static func query(for rule: ProtectionRule) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [
                .accessGroup: .string(AccessGroup.secretService.name), .service: .string(SecretRecords.rules),
                .account: .string(rule.name),
            ],
            limit: .all
        )
    }

    private func query(_ references: [PersistentReference]) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [.accessGroup: .string(AccessGroup.secretService.name)],
            limit: .all,
            references: references
        )
    }

    private func prompt(_ reason: String) -> PromptFields {
        PromptFields(origin: .current(), reason: reason, fallbackTitles: [])
    }
}
