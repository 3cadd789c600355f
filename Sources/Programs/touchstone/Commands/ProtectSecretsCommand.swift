import ArgumentParser
import KeychainModel
import SecretServiceModel

/// `touchstone protect`: a secret of another program behind a gesture.
struct ProtectSecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "protect",
        abstract: "Put secrets of other programs behind a finger or the passcode.",
        discussion: """
            Their keys are wrapped anew: without the gesture nobody can read them, whatever program asks. A box says which \
            program wants which secret, and a gesture counts for that program and that secret, for 10 seconds and 3 reads.

              touchstone protect 4a73cb10
              touchstone protect --schema org.gnome.keyring.NetworkPassword --match server=bank.example --window 10min
              touchstone protect --from-programs claude,node
              touchstone protect --foreign

            With attributes there is a rule, also for secrets that are stored later. With --from-programs the rule is for what \
            these and the programs that they start read; with --foreign for every program that did not store the secret, and \
            once: a program that you let through may read that secret from then on, until it is updated. The keys are not \
            wrapped anew then: a program that takes another one's place is not found.

            Some programs give up at once instead of waiting for a person: with --legacy wait their read waits for the \
            gesture, for at most 20 seconds.
            """
    )

    @OptionGroup
    var selection: SecretSelection

    @Option(help: "What reading them requires: presence (or either), finger or passcode.")
    var require = Requirement.either

    @Option(
        help: ArgumentHelp(
            "For how long one gesture counts for a program, for any number of reads: at most 15min.",
            valueName: "time"
        ),
        transform: Self.seconds
    )
    var window: Int?

    @Option(help: "What a program gets that reads without unlocking: refuse, or wait for the gesture.")
    var legacy = Legacy.refuse

    @Flag(
        help:
            "Also the keys by which browsers encrypt their own files: one that does not get its key loses what they hold."
    )
    var force = false

    func validate() throws {
        guard require != .nothing else {
            throw ValidationError("touchstone unprotect takes the requirement away")
        }
        guard !selection.foreign || window == nil else {
            throw ValidationError("--foreign asks once for each program and secret: leave --window out")
        }
    }

    private static func seconds(_ text: String) throws(ValidationError) -> Int {
        guard let seconds = try? LockTime.seconds(text), seconds <= ReadingOptions.longestWindow else {
            throw ValidationError("a window is from 1s to 15min, as in 10min")
        }
        return seconds
    }

    func run() throws {
        let secrets = ServiceSecrets()
        defer { secrets.tellDoor() }
        let pairs = selection.attributes
        let reading = ReadingOptions(window: window, waits: legacy == .wait)
        switch selection.audience(includesProgramKeys: force) {
        case .everyone: break
        case .programs(let programs):
            try secrets.setRule(require, reading, for: pairs, .programs(programs))
            let names = programs.joined(separator: ", ")
            return Output.complain(
                "What \(Printable.text(names)) and the programs that they start read requires \(require.rawValue) now."
            )
        case let strangers:
            try secrets.setRule(require, reading, for: pairs, strangers)
            return Output.complain(
                "The first read of a secret by a program that did not store it requires \(require.rawValue) now."
            )
        }
        let found = try selection.items(of: secrets)
        let isRefused = { (item: SecretItem) in !force && ProtectionRule.isProgramKey(item.content.attributes)
        }
        if pairs.isEmpty, let item = found.first(where: isRefused) {
            throw CommandError(
                "'\(Printable.text(item.content.label))' is the key by which a program encrypts its own files; "
                    + "if it does not get it, what it stored is lost",
                hint: "with --force it is protected all the same"
            )
        }
        // First, so that what is stored meanwhile is under it too.
        if !pairs.isEmpty { try secrets.setRule(require, reading, for: pairs) }
        let count: Int
        do throws(CommandError) {
            count = try secrets.require(require, reading, of: found.filter { !isRefused($0) })
        } catch {
            if !pairs.isEmpty {
                Output.complain("The rule counts for secrets that come; those that are there did not change.")
            }
            throw error
        }
        let names = count == 1 ? "1 secret requires" : "\(count) secrets require"
        Output.complain(
            "\(names) \(require.rawValue) now." + (pairs.isEmpty ? "" : " So will those that come.")
        )
    }
}

/// `touchstone unprotect`: without a gesture again.
struct UnprotectSecretsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unprotect",
        abstract: "Let programs read secrets without a gesture again; asks for what they require until now.",
        discussion: """
              touchstone unprotect 4a73cb10
              touchstone unprotect --schema org.gnome.keyring.NetworkPassword --match server=bank.example
              touchstone unprotect --from-programs claude,node
              touchstone unprotect --foreign

            With --foreign also what you answered is forgotten: under a new rule each program is asked for again.
            """
    )

    @OptionGroup
    var selection: SecretSelection

    func run() throws {
        let secrets = ServiceSecrets()
        defer { secrets.tellDoor() }
        let pairs = selection.attributes
        let audience = selection.audience()
        guard audience == .everyone else {
            guard try secrets.endRule(for: pairs, audience) else {
                throw CommandError(
                    "there is no such rule",
                    hint: "touchstone secrets list shows the rules",
                    exitCode: .notFound
                )
            }
            if selection.foreign { try secrets.forgetReaders() }
            return Output.complain("The rule is gone.")
        }
        let found = try selection.items(of: secrets)
        let count = try secrets.require(.nothing, ReadingOptions(), of: found)
        let hadRule = pairs.isEmpty ? false : try secrets.endRule(for: pairs)
        Output.complain(
            (count == 1 ? "1 secret requires" : "\(count) secrets require") + " nothing now."
                + (hadRule ? " The rule is gone." : "")
        )
    }
}

/// What a program gets that reads a protected secret without having unlocked it.
enum Legacy: String, ExpressibleByArgument, CaseIterable {
    /// An error at once.
    case refuse
    /// The secret, after the gesture.
    case wait
}

/// Secrets of other programs on the command line: by their names, or by attributes; or programs, whatever they read.
struct SecretSelection: ParsableArguments {
    @Argument(help: "Names from touchstone secrets list, or how they begin.")
    var names: [String] = []

    @Option(help: "The schema of the secrets: the attribute xdg:schema.")
    var schema: String?

    @Option(help: AttributePair.help)
    var match: [AttributePair] = []

    @Option(
        help: ArgumentHelp(
            "Programs, by the names of their files or of their processes, separated by commas.",
            valueName: "names"
        )
    )
    var fromPrograms: String?

    @Flag(help: "Every program that did not store the secret.")
    var foreign = false

    func validate() throws {
        let isForPrograms = fromPrograms != nil || foreign
        guard !names.isEmpty || schema != nil || !match.isEmpty || isForPrograms else {
            throw ValidationError(
                "missing: which secrets, by name, --schema or --match, or --from-programs or --foreign"
            )
        }
        guard names.isEmpty || schema == nil && match.isEmpty && !isForPrograms else {
            throw ValidationError(
                "say names, or attributes with --schema and --match, or --from-programs or --foreign"
            )
        }
        guard fromPrograms == nil || !foreign else {
            throw ValidationError("say --from-programs or --foreign, each for a rule of its own")
        }
        guard fromPrograms == nil || (1...ProtectionRule.mostPrograms).contains(programs.count) else {
            throw ValidationError("--from-programs takes 1 to \(ProtectionRule.mostPrograms) names")
        }
        guard programs.allSatisfy({ $0.utf8.count <= 255 && !$0.contains("/") && !$0.contains("\n") }) else {
            throw ValidationError("--from-programs takes names, not paths: the last part of a program's path")
        }
    }

    private var programs: [String] {
        Set((fromPrograms ?? "").split(separator: ",").map(String.init)).sorted()
    }

    /// Whom the rule is for.
    func audience(includesProgramKeys: Bool = false) -> ProtectionRule.Audience {
        if foreign { return .strangers(includesProgramKeys: includesProgramKeys) }
        return programs.isEmpty ? .everyone : .programs(programs)
    }

    /// The attributes; none if the secrets are named.
    var attributes: [String: String] { AttributePair.dictionary(match, schema: schema) }

    /// The secrets that are meant.
    func items(of secrets: ServiceSecrets) throws(CommandError) -> [SecretItem] {
        attributes.isEmpty ? try secrets.items(named: names) : try secrets.items(having: attributes)
    }
}
