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

    /// The programs that were let through to secrets, by the secret's name.
    func readers() throws(CommandError) -> [String: ProgramFiles] {
        var readers: [String: ProgramFiles] = [:]
        try read([.service: .string(SecretRecords.readers)], "List the programs that read secrets.") {
            attributes,
            reference in
            if let record = SecretItem(attributes, reference) { readers[record.name] = record.readers }
        }
        return readers
    }

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

    /// Sets a rule, in place of the one for the same secrets and programs; with what that one requires, if the door asks for it.
    ///
    /// - Parameters:
    ///   - requirement: what reading requires.
    ///   - reading: how the gesture is asked for.
    ///   - attributes: those of the secrets; none for all.
    ///   - audience: the programs.
    /// - Throws: ``CommandError`` if there are too many rules, or without that gesture.
    func setRule(
        _ requirement: Requirement,
        _ reading: ReadingOptions,
        for attributes: [String: String],
        _ audience: ProtectionRule.Audience = .everyone
    ) throws(CommandError) {
        let access: AccessControl
        do throws(KeychainError) {
            access = try requirement.accessControl(.afterFirstUnlock)
        } catch {
            throw ErrorText.describe(error)
        }
        let wanted = ProtectionRule(
            name: Hexadecimal.text(RandomBytes.array(count: 16)),
            attributes: attributes,
            accessControl: access,
            reading: reading,
            audience: audience
        )
        let present = try rules()
        let same = present.first { $0.isFor(attributes, audience) }
        guard same?.changeable != wanted.changeable else { return }
        guard same != nil || present.count < ProtectionRule.most else {
            throw CommandError(
                "there are \(present.count) rules already",
                hint: "touchstone unprotect --match NAME=VALUE ends one"
            )
        }
        do throws(KeychainError) {
            if let same { try authorize(same, "Change a rule for secrets of other programs.") }
            let prompt = prompt("Store a rule for secrets of other programs.")
            if let same {
                let change = UpdateItems(
                    query: Self.query(for: same),
                    attributes: wanted.changeable,
                    accessControl: nil,
                    data: nil,
                    prompt: prompt
                )
                try keychain.update(change)
            } else {
                let item = AddItem(
                    itemClass: .genericPassword,
                    attributes: wanted.stored,
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

    /// Ends the rule for secrets with these attributes and these programs, with what it requires, if the door asks for it.
    ///
    /// - Returns: false if there is none.
    func endRule(
        for attributes: [String: String],
        _ audience: ProtectionRule.Audience = .everyone
    ) throws(CommandError) -> Bool {
        guard let rule = try rules().first(where: { $0.isFor(attributes, audience) }) else { return false }
        do throws(KeychainError) {
            try authorize(rule, "End a rule for secrets of other programs.")
            let prompt = prompt("End a rule for secrets of other programs.")
            try keychain.delete(DeleteItems(query: Self.query(for: rule), prompt: prompt))
        } catch {
            guard error.status == .itemNotFound else { throw ErrorText.describe(error) }
        }
        return true
    }

    /// Has the door read the rules anew: the daemon tells it of the change too, a moment later.
    func tellDoor() {
        // Without a bus or a door there is nobody to tell.
        guard let path = try? SecretsDoorProgram.path() else { return }
        _ = try? ChildProgram.output(of: path, ["--refresh"], upTo: 4096)
    }

    /// Forgets which programs were let through to secrets: each is asked for again where a rule says so.
    func forgetReaders() throws(CommandError) {
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [
                .accessGroup: .string(AccessGroup.secretService.name),
                .service: .string(SecretRecords.readers),
            ],
            limit: .all
        )
        do throws(KeychainError) {
            let prompt = prompt("Forget which programs read secrets.")
            try keychain.delete(DeleteItems(query: query, prompt: prompt))
        } catch {
            guard error.status != .itemNotFound else { return }
            throw ErrorText.describe(error)
        }
    }

    /// Asks for what a rule for programs requires.
    ///
    /// Only the door holds such a rule; what is under another one is changed with its own gesture.
    private func authorize(_ rule: ProtectionRule, _ reason: String) throws(KeychainError) {
        guard rule.audience != .everyone else { return }
        _ = try keychain.evaluateAccessControl(
            EvaluateAccessControl(
                accessControl: rule.accessControl,
                operation: Int64(AccessOperation.useItem.rawValue),
                context: keychain.makeContextNumber(),
                reuseSeconds: 0,
                prompt: prompt(reason)
            )
        )
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
