import ArgumentParser
import KeychainClient
import KeychainModel

/// What the word at the cursor of a `touchstone` command line can become.
struct CompletedWord {
    /// A possible word.
    struct Candidate {
        let text: String
        /// What it means, for shells that show it.
        var help = ""
    }

    enum Kind {
        /// One of these, or nothing that the shell could complete.
        case words([Candidate])
        /// A file.
        case file
        /// The command that `run` executes, or an argument of it.
        case command
    }

    let kind: Kind
    /// The start of the word before what is completed: `--env=A=`.
    let lead: String

    /// Looks at the words after the program's name up to the cursor; `last` may be empty.
    init(after words: [String], last: String) {
        var place = Place()
        for word in words { place.pass(word) }
        (kind, lead) = place.complete(last)
    }
}

/// The position in a command line.
private struct Place {
    private var command: any ParsableCommand.Type = Touchstone.self
    private var options = CommandOptions(of: Touchstone.self)
    private var arguments: [String] = []
    private var used: Set<String> = []
    /// The option whose value is next.
    private var option: CommandOptions.Option?
    private var isTerminated = false
    private var isHelp = false

    private var subcommands: [any ParsableCommand.Type] {
        command.configuration.subcommands
    }

    /// Passes a word before the cursor.
    mutating func pass(_ word: String) {
        if option != nil {
            option = nil
        } else if isTerminated {
            arguments.append(word)
        } else if word == "--" {
            isTerminated = true
        } else if word.hasPrefix("-"), word != "-" {
            let name = String(word.prefix { $0 != "=" })
            used.insert(name)
            if let named = options.named(name), named.takesValue, !word.contains("=") { option = named }
        } else if arguments.isEmpty, let next = subcommands.first(where: { $0.isCalled(word) }) {
            command = next
            options = CommandOptions(of: next)
        } else if command == Touchstone.self, word == "help" {
            isHelp = true
        } else {
            arguments.append(word)
        }
    }

    /// What the word at the cursor can become, and the start of it that stays.
    func complete(_ last: String) -> (CompletedWord.Kind, lead: String) {
        if let option { return value(of: option, last, lead: "") }
        if isTerminated { return (command == RunCommand.self ? .command : argument(isTerminated: true), "") }
        guard last.hasPrefix("-") else { return (argument(isTerminated: false), "") }
        let name = String(last.prefix { $0 != "=" })
        guard name == last else {
            guard let option = options.named(name), option.takesValue else { return (.words([]), "") }
            return value(of: option, String(last.dropFirst(name.count + 1)), lead: name + "=")
        }
        let left = options.all.filter { option in
            option.names == ["--env"] || option.names == ["--env-file"]
                || !option.names.contains(where: used.contains)
        }
        return (
            .words(left.flatMap { option in option.names.map { .init(text: $0, help: option.help) } }), ""
        )
    }

    private func value(of option: CommandOptions.Option, _ typed: String, lead: String)
        -> (CompletedWord.Kind, lead: String)
    {
        switch option.names.last {
        case "--env":
            guard let equals = typed.firstIndex(of: "=") else { return (.words([]), lead) }
            return (names(isTerminated: true), lead + typed[...equals])
        case "--require": return (.words(Requirement.candidates), lead)
        case "--prefix": return (prefixes(isTerminated: true), lead)
        case "--when": return (.words(Readability.candidates), lead)
        case "--format":
            let formats =
                switch command {
                case is ImportCommand.Type: ImportFormat.allCases.map(\.rawValue)
                case is ExportCommand.Type: ExportFormat.allCases.map(\.rawValue)
                default: PublicKeyFormat.allCases.map(\.rawValue)
                }
            return (.words(formats.map { .init(text: $0) }), lead)
        case "--on-conflict":
            return (.words(ConflictChoice.allCases.map { .init(text: $0.rawValue) }), lead)
        case "--from-file", "--env-file", "--in-file", "--out-file", "--export", "--import", "--from", "--qr":
            return (.file, lead)
        default: return (.words([]), lead)
        }
    }

    private func argument(isTerminated: Bool) -> CompletedWord.Kind {
        let subcommands = subcommands
        guard subcommands.isEmpty else {
            let all = subcommands.map { $0.candidate }
            let help = CompletedWord.Candidate(text: "help", help: "Show subcommand help information.")
            guard arguments.isEmpty else { return .words([]) }
            return .words(command == Touchstone.self && !isHelp ? all + [help] : all)
        }
        switch command {
        case is GetCommand.Type, is TOTPCommand.Type, is EditCommand.Type, is ShowCommand.Type,
            is HistoryCommand.Type:
            return arguments.isEmpty ? names(isTerminated: isTerminated) : .words([])
        case is CopyCommand.Type, is RenameCommand.Type:
            guard let first = arguments.first else {
                return names(isTerminated: isTerminated, withPrefixes: true)
            }
            return arguments.count == 1 && first.hasSuffix("/")
                ? prefixes(isTerminated: isTerminated) : .words([])
        case is ListCommand.Type: return arguments.isEmpty ? prefixes(isTerminated: isTerminated) : .words([])
        case is UndoCommand.Type:
            return arguments.isEmpty ? keptNames(isTerminated: isTerminated) : .words([])
        case is DeleteCommand.Type: return names(isTerminated: isTerminated)
        case is RequireCommand.Type:
            guard !arguments.isEmpty, case .words(let names) = names(isTerminated: isTerminated) else {
                return names(isTerminated: isTerminated)
            }
            return .words(names + Requirement.candidates)
        case is ShowKeyCommand.Type, is RenameKeyCommand.Type, is DeleteKeyCommand.Type:
            return arguments.isEmpty ? keyNames(isTerminated: isTerminated) : .words([])
        case is BackupCommand.Type, is ImportCommand.Type, is ExportCommand.Type:
            return arguments.isEmpty ? .file : .words([])
        case is MoveAppCommand.Type: return arguments.count < 2 ? .file : .words([])
        case is AppFingersCommand.Type:
            guard arguments.count == 1 else { return arguments.isEmpty ? .file : .words([]) }
            return .words(FingerUse.allCases.map { .init(text: $0.rawValue) })
        case is DistrustPlaceCommand.Type: return arguments.isEmpty ? trustedPlaces : .words([])
        case is GitCredentialCommand.Type: return words("get", "store", "erase")
        case is DockerCredentialCommand.Type: return words("get", "store", "erase", "list", "version")
        default: return .words([])
        }
    }

    private func words(_ all: String...) -> CompletedWord.Kind {
        .words(arguments.isEmpty ? all.map { .init(text: $0) } : [])
    }

    /// The stored names, and with `withPrefixes` what they begin with up to a `/`.
    private func names(isTerminated: Bool, withPrefixes: Bool = false) -> CompletedWord.Kind {
        let names = storedNames
        return candidates(names + (withPrefixes ? Self.prefixes(of: names) : []), isTerminated)
    }

    /// What stored names begin with, up to a `/`.
    private func prefixes(isTerminated: Bool) -> CompletedWord.Kind {
        candidates(Self.prefixes(of: storedNames), isTerminated)
    }

    /// The stored names, if that needs neither a prompt nor a start of the daemon.
    private var storedNames: [String] {
        let keychain = RemoteKeychain(daemon: .none)
        let secrets = (try? StoredSecrets(keychain: keychain).all(interactionAllowed: false)) ?? []
        return secrets.map(\.name)
    }

    /// The trusted networks, if that needs no start of the daemon.
    private var trustedPlaces: CompletedWord.Kind {
        let protection = try? RemoteKeychain(daemon: .none).protection()
        return .words((protection?.places ?? []).map { .init(text: $0.text) })
    }

    /// The names of keys.
    private func keyNames(isTerminated: Bool) -> CompletedWord.Kind {
        let keys = StoredKeys(keychain: RemoteKeychain(daemon: .none))
        return candidates((try? keys.names(interactionAllowed: false)) ?? [], isTerminated)
    }

    /// The names of which values are kept.
    private func keptNames(isTerminated: Bool) -> CompletedWord.Kind {
        let kept = try? StoredSecrets(keychain: RemoteKeychain(daemon: .none)).keptValues(
            interactionAllowed: false
        )
        return candidates((kept ?? []).map(\.name), isTerminated)
    }

    private static func prefixes(of names: [String]) -> [String] {
        names.flatMap { name in
            name.utf8.indices.filter { name.utf8[$0] == UInt8(ascii: "/") }.map { slash in
                String(decoding: name.utf8[...slash], as: UTF8.self)
            }
        }
    }

    /// Each name once; not those that a terminal does not show as they are, and before `--` not those that would be read as an
    /// option.
    private func candidates(_ names: [String], _ isTerminated: Bool) -> CompletedWord.Kind {
        var seen = Set(arguments.map { Array($0.utf8) })
        let shown = names.filter { name in
            Printable.isPlain(name) && (isTerminated || !name.hasPrefix("-"))
                && seen.insert(Array(name.utf8)).inserted
        }
        return .words(shown.map { .init(text: $0) })
    }
}

extension ParsableCommand {
    /// Whether a word calls this command, by its name or by an alias.
    fileprivate static func isCalled(_ word: String) -> Bool {
        configuration.commandName == word || configuration.aliases.contains(word)
    }

    fileprivate static var candidate: CompletedWord.Candidate {
        .init(text: configuration.commandName ?? "", help: configuration.abstract)
    }
}

extension Requirement {
    fileprivate static var candidates: [CompletedWord.Candidate] { allCases.map { .init(text: $0.rawValue) } }
}

extension Readability {
    fileprivate static var candidates: [CompletedWord.Candidate] { allCases.map { .init(text: $0.rawValue) } }
}
