import ArgumentParser
import KeychainClient
import KeychainModel
import SecretMemory

/// What a sealed file of the keychain's items is for: the words of the two commands that write and read one.
enum SealedExport {
    /// Takes the secrets to another machine once (`touchstone migrate`).
    case move
    /// Is kept (`touchstone backup`).
    case backup

    private var noun: String {
        switch self {
        case .move: "export"
        case .backup: "backup"
        }
    }

    // MARK: Writing

    /// Writes the secrets, sealed under the recovery code; `name` is the target's for the user.
    ///
    /// With `byCode` the daemon asks for the recovery code; otherwise for what its settings require.
    func write(to target: any ExportTarget, _ name: String, byCode: Bool) throws -> ExportReport {
        let progress = Progress("Exporting")
        defer { progress.clear() }
        let reason =
            switch self {
            case .move: "Export the keychain to \(name)."
            case .backup: "Back up the keychain to \(name)."
            }
        let prompt = PromptFields(origin: .current(), reason: reason)
        let write: @Sendable ([UInt8], Int) throws(KeychainError) -> Void = {
            octets,
            total throws(KeychainError) in
            try target.append(octets)
            progress.showLater(target.count, total)
        }
        let keychain = RemoteKeychain.shared
        let report: ExportReport
        do {
            report =
                try byCode
                ? keychain.exportKeychain(prompt, progress: progress.show, write: write)
                : keychain.backUp(prompt, progress: progress.show, write: write)
        } catch {
            let failure = target.failure
            target.discard()
            throw failure ?? error
        }
        progress.clear()
        try target.finish()
        return report
    }

    /// Says what was written.
    func tell(_ report: ExportReport, _ name: String, json: Bool, next: String?) {
        guard !json else { return Output.print(report.json(name).rendered()) }
        Output.print("\(Printable.text(name)) holds \(report.items) items, sealed under the recovery code.")
        for line in report.leftOutLines { Output.print(line) }
        if !report.isSetAuthentic {
            Output.complain("warning: the store is not as the daemon left it: touchstone doctor")
        }
        if let next { Output.complain(next) }
    }

    // MARK: Reading

    /// Creates this machine's keychain from a file.
    func createKeychain(from path: String, json: Bool) throws {
        let file = try ImportedFile(path, self)
        let keychain = RemoteKeychain.shared
        guard try keychain.status().keybag == .notSetUp else {
            throw CommandError(
                "there is a keychain already, or what is left of one",
                hint:
                    "touchstone backup --restore FILE --merge adds what it lacks; touchstone start-over puts it aside",
                exitCode: .existsAlready
            )
        }
        let progress = Progress("Checking")
        defer { progress.clear() }
        let prompt = PromptFields(origin: .current(), reason: "Create the keychain from \(path).")
        let items = try reporting { () throws in
            try file.send()
            return try keychain.importKeychain(prompt, progress: progress.show)
        }
        progress.clear()
        let status = try keychain.status()
        guard !json else {
            let moved: [(String, JSONText)] = [
                ("items", .number(Int64(items))), ("assurance", .text(status.assurance.name)),
            ]
            return Output.print(JSONText.object(moved).rendered())
        }
        Output.print("The keychain is ready, with \(items) items. Its assurance is \(status.assurance.name):")
        for reason in status.assuranceReasons {
            for line in Columns.lines("  ", Printable.text(reason)) { Output.print(line) }
        }
        switch self {
        case .move:
            Output.complain("The recovery code is the old keychain's; \(Printable.text(path)) can go now.")
        case .backup:
            Output.complain("The recovery code is that of the backup. Keep \(Printable.text(path)).")
        }
    }

    /// Opens a file with its recovery code, and reads it, or merges it into this machine's keychain.
    ///
    /// - Returns: its items, by group and name.
    func open(_ path: String, merge: ExportMerge? = nil) throws -> [ExportedItem] {
        let file = try ImportedFile(path, self)
        let progress = Progress(merge == nil ? "Checking" : "Merging")
        defer { progress.clear() }
        let reason =
            merge == nil ? "Read the \(noun) \(path)." : "Merge the \(noun) \(path) into the keychain."
        let request = ExportRequest(
            prompt: PromptFields(origin: .current(), reason: reason),
            merge: merge
        )
        let items = Guarded<[ExportedItem]>([])
        try reporting { () throws in
            try file.send()
            try RemoteKeychain.shared.openExport(request, progress: progress.show) { item in
                items.withLock { $0.append(item) }
            }
        }
        return items.withLock { $0 }.sorted { ($0.group, $0.name) < ($1.group, $1.name) }
    }

    // MARK: Errors

    /// The error for a file that cannot be one.
    func isNot(_ path: String) -> CommandError {
        let hint = self == .move ? "touchstone migrate --export FILE makes one, on the other machine" : nil
        return CommandError("\(path) is not \(article) \(noun) of a keychain", hint: hint, exitCode: .damaged)
    }

    private var article: String { self == .move ? "an" : "a" }

    /// Runs `body`; errors about the file name it as this command does.
    private func reporting<Value>(_ body: () throws -> Value) throws -> Value {
        do {
            return try body()
        } catch let error as KeychainError where error.cause?.known == .recoveryCode {
            throw CommandError(
                "that is not the recovery code of this \(noun)",
                hint: "a \(noun) is opened by the code it was written under: try again with that one",
                exitCode: .authenticationFailed
            )
        } catch let error as KeychainError {
            switch error.cause?.known {
            case .exportDamaged:
                throw CommandError(
                    "the \(noun) is damaged or incomplete; nothing was taken from it",
                    hint: "take another copy of it, or make it anew",
                    exitCode: .damaged
                )
            case .notAnExport: throw isNot("the file")
            case .newerExport:
                throw CommandError(
                    "a newer version made the \(noun)",
                    hint: "install that version here",
                    exitCode: .notAvailable
                )
            default: throw error
            }
        }
    }
}
