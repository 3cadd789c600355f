import ArgumentParser
import KeychainClient
import KeychainModel
import SecretMemory

/// What became of an entry.
struct ImportResult {
    enum Outcome: String {
        /// It is stored now.
        case added
        /// The keychain had it already.
        case same
        /// The keychain has another secret of its name, which stays.
        case kept
        /// The keychain had another secret of its name, and has this one now.
        case replaced
        /// It is stored under another name beside the keychain's.
        case besides
        /// It cannot be imported.
        case leftOut
        /// It could not be read.
        case failed
        /// It would be added.
        case new
        /// The keychain has a secret of its name, which was not compared.
        case present
    }

    let name: ItemName
    var outcome: Outcome
    var newName: ItemName?
    /// What of it stays behind, and why.
    var reasons: [String] = []
}

/// An import into the keychain.
///
/// What the keychain has already is compared before anything is stored: that may ask for what it requires, and can be refused. Each
/// secret is then stored in one step, so that an import that ends in the middle is completed by the same command.
struct Importer {
    /// An entry with its name.
    struct Entry {
        let name: ItemName
        let item: ImportItem
    }

    private let secrets = StoredSecrets()
    private let entries: [Entry]
    private let choice: ConflictChoice
    /// The names of the keychain and of this import.
    private var taken: Set<[UInt8]> = []
    private var existing: [StoredSecret] = []
    private var places: [[UInt8]: Int] = [:]
    /// The secrets beside a name: `name (import)`, `name (user)`.
    private var beside: [[UInt8]: [StoredSecret]] = [:]

    init(_ items: [ImportItem], below prefix: NamePrefix?, _ choice: ConflictChoice) throws(ValidationError) {
        var names = ImportNames(below: prefix)
        var entries: [Entry] = []
        for item in items { entries.append(Entry(name: try names.name(of: item), item: item)) }
        self.entries = entries
        self.choice = choice
        taken = Set(entries.map { Array($0.name.text.utf8) })
    }

    /// What would be imported, by name: nothing is decrypted, released or stored.
    ///
    /// - Returns: the results; and whether the keychain's names are known, which needs it to be unlocked.
    mutating func preview() -> (results: [ImportResult], isCompared: Bool) {
        let isCompared = (try? lookUp(interactionAllowed: false, context: nil)) != nil
        let results = entries.map { entry in
            let outcome: ImportResult.Outcome =
                entry.item.content == nil ? .leftOut : stored(entry.name.text) == nil ? .new : .present
            return ImportResult(name: entry.name, outcome: outcome, reasons: entry.item.leftOut)
        }
        return (results, isCompared)
    }

    /// Imports.
    ///
    /// - Parameter rule: what the secrets require from then on.
    /// - Returns: what became of each entry.
    /// - Throws: ``CommandError`` if the keychain refuses; what was stored before stays.
    mutating func run(_ rule: AccessControl) throws(CommandError) -> [ImportResult] {
        let context = secrets.keychain.makeContextNumber()
        guard let first = entries.first(where: { $0.item.content != nil }) else {
            return entries.map { ImportResult(name: $0.name, outcome: .leftOut, reasons: $0.item.leftOut) }
        }
        try secrets.checkStorable(first.name, rule, isReplacing: true)
        try lookUp(interactionAllowed: true, context: context)
        let compared = try compare(context)
        let progress = Progress("Importing")
        defer { progress.clear() }
        var results: [ImportResult] = []
        do throws(CommandError) {
            for (index, entry) in entries.enumerated() {
                let result = if let known = compared[index] { known } else { try store(entry, rule, context) }
                results.append(result)
                progress.showLater(index + 1, entries.count)
            }
        } catch {
            progress.clear()
            let stored = results.count { [.added, .replaced, .besides].contains($0.outcome) }
            if stored > 0 {
                Output.complain(
                    "\(stored) of \(entries.count) entries are stored; the same command does the rest."
                )
            }
            throw error
        }
        return results
    }

    private mutating func lookUp(interactionAllowed: Bool, context: UInt64?) throws(CommandError) {
        existing = try secrets.all(interactionAllowed: interactionAllowed, context: context)
        for (index, secret) in existing.enumerated() {
            places[Array(secret.name.utf8)] = index
            for name in ImportNames.names(besideWhich: secret.name) {
                beside[name, default: []].append(secret)
            }
        }
        taken.formUnion(places.keys)
    }

    private func stored(_ name: String) -> StoredSecret? { places[Array(name.utf8)].map { existing[$0] } }

    private func result(_ outcome: ImportResult.Outcome, _ entry: Entry, _ reasons: String...) -> ImportResult
    {
        ImportResult(name: entry.name, outcome: outcome, reasons: entry.item.leftOut + reasons)
    }

    /// The results of entries whose names the keychain has, by their places: all that are not to be stored.
    ///
    /// Those with the strictest requirement come first, which covers the others: the user is asked once.
    private func compare(_ context: UInt64) throws(CommandError) -> [Int: ImportResult] {
        let doubtful = entries.indices.compactMap { index -> (index: Int, stored: StoredSecret)? in
            guard entries[index].item.content != nil else { return nil }
            return stored(entries[index].name.text).map { (index, $0) }
        }.sorted { $0.stored.accessControl.releaseOrder < $1.stored.accessControl.releaseOrder }
        let progress = Progress("Comparing")
        defer { progress.clear() }
        let what = doubtful.count == 1 ? "a secret" : "\(doubtful.count) secrets"
        let reason = "Compare \(what) with what is imported."
        var results: [Int: ImportResult] = [:]
        for (done, (index, stored)) in doubtful.enumerated() {
            progress.showLater(done, doubtful.count)
            let entry = entries[index]
            switch try entry.item.content?() ?? .empty {
            case .empty: results[index] = result(.leftOut, entry, "it is empty")
            case .unreadable(let fault): results[index] = result(.failed, entry, fault)
            case .secret(let secret):
                if try isStored(secret, as: stored, reason, context) {
                    results[index] = result(.same, entry)
                } else if choice == .keep {
                    let isLost = stored.invalidated != nil
                    results[index] =
                        isLost
                        ? result(.kept, entry, "the keychain's is lost, and was not compared")
                        : result(.kept, entry)
                }
            }
        }
        return results
    }

    /// Whether the keychain has a secret under its name or beside it; a lost one is not compared.
    private func isStored(
        _ secret: borrowing SecretBytes,
        as stored: StoredSecret,
        _ reason: String,
        _ context: UInt64
    ) throws(CommandError) -> Bool {
        for candidate in [stored] + beside[Array(stored.name.utf8), default: []]
        where candidate.invalidated == nil {
            guard let name = try? ItemName(argument: candidate.name) else { continue }
            if try secrets.read(name, reason: reason, context: context).matches(secret) { return true }
        }
        return false
    }

    private mutating func store(
        _ entry: Entry,
        _ rule: AccessControl,
        _ context: UInt64
    ) throws(CommandError) -> ImportResult {
        guard let content = entry.item.content else { return result(.leftOut, entry) }
        switch try content() {
        case .empty: return result(.leftOut, entry, "it is empty")
        case .unreadable(let fault): return result(.failed, entry, fault)
        case .secret(let secret):
            guard stored(entry.name.text) != nil else { return try add(entry, secret, rule) }
            guard choice == .both else {
                try secrets.replace(entry.name, secret, rule, context: context)
                return result(.replaced, entry)
            }
            var result = result(.besides, entry)
            let newName = try freeName(beside: entry.name)
            try secrets.add(newName, secret, rule)
            result.newName = newName
            return result
        }
    }

    private func add(
        _ entry: Entry,
        _ secret: consuming SecretBytes,
        _ rule: AccessControl
    ) throws(CommandError) -> ImportResult {
        do throws(CommandError) {
            try secrets.add(entry.name, secret, rule)
            return result(.added, entry)
        } catch {
            // Another program added one of this name meanwhile.
            guard error.exitCode == .existsAlready else { throw error }
            return result(.kept, entry)
        }
    }

    private mutating func freeName(beside name: ItemName) throws(CommandError) -> ItemName {
        for number in 1...ExportLimits.mostEntries {
            guard let beside = try? ImportNames.beside(name, number: number) else { break }
            if taken.insert(Array(beside.text.utf8)).inserted { return beside }
        }
        throw CommandError("there is no free name beside '\(name.text)'", exitCode: .existsAlready)
    }
}
