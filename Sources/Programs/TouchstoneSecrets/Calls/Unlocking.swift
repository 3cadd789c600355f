import KeychainClient
import KeychainModel
import MessageBus
import SecretServiceModel

/// Unlocking and locking: of the keychain, of a collection that a client locked, and of items with a rule for one client.
extension SecretsClient {
    /// The most items that one box may be for: each has a line of its own.
    private static let mostItems = PromptDetails.mostItems

    /// What has to happen before an object is unlocked.
    private enum Target: Sendable {
        case collection(String)
        case item(collection: String, name: String)
    }

    /// What the user has to show before this client may read an item, and how that is asked for.
    struct Demand: Sendable, Equatable {
        let rule: AccessControl
        let reading: ReadingOptions
        /// The program that may read it from then on, if the user is asked once for it.
        var reader: ProgramFile?
    }

    /// The rules that are for a program, beside those of the items themselves.
    struct OwnRules: Sendable {
        /// Those for it, or for a program that started it.
        var named: [ProtectionRule] = []
        /// Those for programs that did not store an item.
        var forStrangers: [ProtectionRule] = []
        /// Who was let through to an item, by its name.
        var readers: [String: ProgramFiles] = [:]
        /// The program; nil if the daemon could not identify it, or nobody can remember it: it is asked for each time.
        var program: ProgramFile?
    }

    /// The rules that are for this client.
    func ownRules() throws(BusFault) -> OwnRules {
        let (rules, readers) = try store.readingRules()
        var own = OwnRules(readers: readers)
        for rule in rules {
            switch rule.audience {
            case .everyone: break
            case .programs(let names): if isStarted(by: names) { own.named.append(rule) }
            case .strangers: own.forStrangers.append(rule)
            }
        }
        if !own.forStrangers.isEmpty {
            let program = try replying { () throws(KeychainError) in try keychain.representedProgram() }
            own.program = program.flatMap { ProgramFiles.canName($0) ? $0 : nil }
        }
        return own
    }

    /// What an item demands of this client, for which these rules are; nil if nothing.
    func demand(of item: SecretItem, _ rules: OwnRules) -> Demand? {
        if item.needsGesture, let rule = item.rule { return Demand(rule: rule, reading: item.reading) }
        let attributes = item.content.attributes
        if let rule = ProtectionRule.applying(to: attributes, of: rules.named) {
            return Demand(rule: rule.accessControl, reading: rule.reading)
        }
        guard let rule = ProtectionRule.applying(to: attributes, of: rules.forStrangers),
            rule.audience == .strangers(includesProgramKeys: true) || !ProtectionRule.isProgramKey(attributes)
        else { return nil }
        if let program = rules.program,
            item.readers.contains(program) || rules.readers[item.name]?.contains(program) == true
        {
            return nil
        }
        return Demand(rule: rule.accessControl, reading: rule.reading, reader: rules.program)
    }

    /// Whether an item is locked for this client.
    func isLocked(_ item: SecretItem) throws(BusFault) -> Bool { isLocked(item, try ownRules()) }

    /// Whether an item is locked for this client, for which these rules are.
    func isLocked(_ item: SecretItem, _ rules: OwnRules) -> Bool {
        shared.isLocked(item.collection)
            || demand(of: item, rules) != nil && grant(for: item.reference) == nil
    }

    /// Unlocks objects, each as spelled.
    ///
    /// - Returns: those that are unlocked now, and a prompt for the others; nil without any.
    func unlock(_ paths: [String]) throws(BusFault) -> (unlocked: [String], prompt: String?) {
        let isCold = try store.isCold()
        var unlocked: [String] = []
        var locked: [(path: String, target: Target)] = []
        for path in Self.once(paths) {
            guard let (target, isUnlocked) = try target(path, isCold: isCold) else { continue }
            if isUnlocked { unlocked.append(path) } else { locked.append((path, target)) }
        }
        guard !locked.isEmpty else { return (unlocked, nil) }
        if !isCold { try checkLimit(locked.map(\.target)) }
        let waiting = locked
        let prompt = try makePrompt(nothing: .paths([])) { [self] cancellation throws(BusFault) in
            .paths(try unlock(waiting, cancellation))
        }
        return (unlocked, prompt)
    }

    /// Refuses more items with a rule than one box can name; while the keychain is locked nobody knows which have one.
    private func checkLimit(_ targets: [Target]) throws(BusFault) {
        let rules = try ownRules()
        let count = targets.count { target in
            guard case .item(let collection, let name) = target,
                case .stored(let item)? = try? item(name, in: collection)
            else { return false }
            return demand(of: item, rules) != nil
        }
        guard count <= Self.mostItems else {
            throw .limit("one prompt unlocks at most \(Self.mostItems) items that need a gesture")
        }
    }

    /// What a path means, and whether it is unlocked; nil if there is no such object.
    private func target(_ path: String, isCold: Bool) throws(BusFault) -> (Target, isUnlocked: Bool)? {
        guard let object = SecretObject(path) else { return nil }
        switch object {
        case .collection, .alias:
            do throws(BusFault) {
                let name = try collection(of: object)
                let isUnlocked = name == SecretNames.sessionCollection || !isCold && !shared.isLocked(name)
                return (.collection(name), isUnlocked)
            } catch {
                guard error == .isLocked, case .collection(let name) = object else { return nil }
                return (.collection(name), false)
            }
        case .item(let collection, let name):
            let target = Target.item(collection: collection, name: name)
            do throws(BusFault) {
                switch try item(name, in: collection) {
                case .stored(let item): return (target, !(try isLocked(item)))
                case .session: return (target, true)
                case .promised: return (target, false)
                }
            } catch {
                return error == .isLocked ? (target, false) : nil
            }
        case .service, .session, .prompt: return nil
        }
    }

    /// Asks the user for what the objects need; returns those that are unlocked then.
    private func unlock(
        _ objects: [(path: String, target: Target)],
        _ cancellation: Cancellation
    ) throws(BusFault) -> [String] {
        let isCold = try store.isCold()
        if isCold { try unlockKeychain(cancellation) }
        try checkLimit(objects.map(\.target))
        var paths: [String] = []
        var collections: Set<String> = []
        var items: [(path: String, item: SecretItem)] = []
        let rules = try ownRules()
        for (path, target) in objects {
            switch target {
            case .collection(let name):
                guard (try? collection(of: .collection(name))) != nil else { continue }
                if shared.isLocked(name) { collections.insert(name) }
                paths.append(path)
            case .item(let collection, let name):
                guard case .stored(let item)? = try? item(name, in: collection) else { continue }
                if shared.isLocked(item.collection) { collections.insert(item.collection) }
                if demand(of: item, rules) != nil { items.append((path, item)) } else { paths.append(path) }
            }
        }
        // The gesture for an item counts for its collection too, and that for the keychain for all.
        let open = collections.subtracting(items.map(\.item.collection))
        if !open.isEmpty, !isCold {
            let names = open.sorted().map { PromptDetails.quoted(label(ofCollection: $0), atMost: 60) }
                .joined(separator: ", ")
            let prompt = fields("Unlock the collection \(names).")
            try replying { () throws(KeychainError) in
                try keychain.evaluatePolicy(
                    EvaluatePolicy(
                        policy: Int64(AuthenticationPolicy.deviceOwner.rawValue),
                        context: keychain.makeContextNumber(lasting: Grants.time),
                        reuseSeconds: 0,
                        prompt: prompt
                    ),
                    cancellation: cancellation
                )
            }
        }
        try release(items.map(\.item), rules, cancellation)
        for name in collections { shared.unlock(name) }
        return objects.map(\.path).filter { path in
            paths.contains(path) || items.contains { $0.path == path }
        }
    }

    /// Asks for the gesture that items demand, and lets this client read them for a while.
    private func release(
        _ items: [SecretItem],
        _ rules: OwnRules,
        _ cancellation: Cancellation
    ) throws(BusFault) {
        var rest = items
        while let first = rest.first, let demand = demand(of: first, rules) {
            let same = rest.filter { self.demand(of: $0, rules) == demand }
            rest.removeAll { self.demand(of: $0, rules) == demand }
            let window = demand.reading.window.map { Duration.seconds($0) }
            let labels = same.map { PromptDetails.quoted($0.content.label, atMost: 60) }
            let time = demand.reading.window.map { ", for \(Self.text(ofSeconds: $0))" } ?? ""
            let what = same.count == 1 ? "the secret \(labels[0])" : "\(same.count) secrets"
            let reason =
                demand.reader == nil
                ? "Read \(what)\(time)." : "Let this program read \(what) from now on."
            let lines = same.count == 1 ? [] : labels
            let prompt = fields(reason, lines)
            let context = keychain.makeContextNumber(lasting: window ?? Grants.time)
            try replying { () throws(KeychainError) in
                try keychain.evaluateAccessControl(
                    EvaluateAccessControl(
                        accessControl: demand.rule,
                        operation: Int64(AccessOperation.useItem.rawValue),
                        context: context,
                        reuseSeconds: 0,
                        prompt: prompt
                    ),
                    cancellation: cancellation
                )
            }
            // Where the program cannot be remembered, the gesture counts as that for another rule.
            let others = same.filter { item in
                guard let reader = demand.reader else { return true }
                return (try? store.add(reader, toReadersOf: item)) == nil
            }
            allow(others, in: context, lasting: window)
        }
    }

    private static func text(ofSeconds seconds: Int) -> String {
        seconds % 60 == 0 ? "\(seconds / 60) min" : "\(seconds) s"
    }

    // MARK: Reads that wait

    /// How long a read may wait for a gesture: less than the 25 seconds after which clients of D-Bus give a call up.
    private static let longestRead = Duration.seconds(20)

    /// Asks for the gesture for those items that this client reads without having unlocked them, where the user wants that.
    ///
    /// Not for one that a client locked, and not for more than one box can name; nothing then, and they stay locked.
    func waitForGesture(_ items: [SecretItem]) throws(BusFault) {
        let rules = try ownRules()
        let waiting = items.filter { item in
            !shared.isLocked(item.collection) && grant(for: item.reference) == nil
                && demand(of: item, rules)?.reading.waits == true
        }
        guard (1...Self.mostItems).contains(waiting.count) else { return }
        do throws(BusFault) {
            try self.waiting(atMost: Self.longestRead) { cancellation throws(BusFault) in
                try release(waiting, rules, cancellation)
            }
        } catch {
            throw .isLocked
        }
    }

    /// Unlocks an item, and its collection if a client locked it.
    func unlock(_ item: SecretItem, _ cancellation: Cancellation) throws(BusFault) {
        _ = try unlock([(item.path, .item(collection: item.collection, name: item.name))], cancellation)
    }

    /// Unlocks the keychain, if it was not unlocked since its start.
    func unlockKeychain(_ cancellation: Cancellation) throws(BusFault) {
        let prompt = fields("Unlock the keychain.")
        try replying { () throws(KeychainError) in try keychain.unlock(prompt, cancellation: cancellation) }
        tellAll()
    }

    // MARK: Locking

    /// Locks collections for everybody, and items with a rule for this client; returns those.
    func lock(_ paths: [String]) -> [String] {
        Self.once(paths).filter { path in
            guard let object = SecretObject(path) else { return false }
            switch object {
            case .collection, .alias:
                guard let name = try? collection(of: object), name != SecretNames.sessionCollection else {
                    return false
                }
                shared.lock(name)
                return true
            case .item(let collection, let name):
                guard case .stored(let item)? = try? item(name, in: collection),
                    let rules = try? ownRules(), demand(of: item, rules) != nil
                else { return false }
                forbid(item.reference)
                return true
            case .service, .session, .prompt: return false
            }
        }
    }
}
