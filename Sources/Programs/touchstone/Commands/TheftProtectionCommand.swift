import ArgumentParser
import KeychainClient
import KeychainModel

/// `touchstone theft-protection`: whether changes of credentials wait, and where not.
struct TheftProtectionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "theft-protection",
        abstract:
            "Make changes of passcode, recovery code and fingers wait an hour away from trusted places.",
        discussion: """
            For who loses the unlocked machine to somebody who saw the passcode typed. Off at first. A trusted place is a \
            Wi-Fi network with a password, as NetworkManager knows it; a cable tells no place. To turn it off, or to \
            trust a place, waits like the other changes.

              touchstone theft-protection trust
              touchstone theft-protection on

            A waiting change begins when it is asked for with the passcode; ask again after an hour, within four more. \
            After a restart of the machine it begins anew. Fingers that were added or removed meanwhile count for \
            nothing until their hour is over. The recovery code sets a new passcode at once: keep it elsewhere.

            In per-user mode this holds who uses Touchstone's own programs, not who can replace the user's files: see \
            touchstone system.
            """,
        subcommands: [
            ShowProtectionCommand.self, ProtectCommand.self, EndProtectionCommand.self,
            TrustPlaceCommand.self,
            DistrustPlaceCommand.self,
        ],
        defaultSubcommand: ShowProtectionCommand.self
    )

    /// Asks the daemon for a change.
    fileprivate static func change(_ change: ChangeProtection.Change, _ reason: String) throws(KeychainError)
    {
        let prompt = PromptFields(origin: .current(), reason: reason)
        try RemoteKeychain.shared.changeProtection(ChangeProtection(change, prompt: prompt))
    }
}

/// `touchstone theft-protection show`: the mode, the places, what waits.
struct ShowProtectionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show",
        abstract: "Show whether it is on, the trusted places, this place, and the changes that wait."
    )

    @Flag(help: "Write JSON.")
    var json = false

    func run() throws {
        let protection = try RemoteKeychain.shared.protection()
        if json { return Output.print(protection.json.rendered()) }
        Output.print("Theft protection: \(protection.sentence)")
        for place in protection.places { Output.print("Trusted:          \(place.text)") }
        if let here = protection.here {
            Output.print(
                "This place:       \(here.text)\(protection.isInTrustedPlace ? "" : " (not trusted)")"
            )
        } else if let fault = protection.fault {
            Output.print("This place:       unknown: \(fault.rawValue)")
        }
        for wait in protection.waits { Output.print("Waiting:          \(wait)") }
    }
}

/// `touchstone theft-protection on`: changes wait from now on.
struct ProtectCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "on",
        abstract: "Turn it on, with the passcode."
    )

    @Flag(help: "Everywhere, also in trusted places, which somebody who knows their secret can imitate.")
    var always = false

    func run() throws {
        // To trust a place afterwards would wait an hour.
        guard try always || !RemoteKeychain.shared.protection().places.isEmpty else {
            throw CommandError(
                "no place is trusted yet, so that everywhere is away",
                hint:
                    "touchstone theft-protection trust; or, without places: touchstone theft-protection on --always",
                exitCode: .failed
            )
        }
        try TheftProtectionCommand.change(.mode(always ? .always : .away), "Turn theft protection on.")
        Output.complain(
            always
                ? "Changes of passcode, recovery code and fingers wait an hour from now on."
                : "Away from trusted places, changes of passcode, recovery code and fingers wait an hour from now on."
        )
    }
}

/// `touchstone theft-protection off`: changes wait no more.
struct EndProtectionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "off",
        abstract: "Turn it off, with the passcode; away from trusted places that waits an hour too."
    )

    func run() throws {
        try TheftProtectionCommand.change(.mode(.off), "Turn theft protection off.")
        Output.complain("Theft protection is off.")
    }
}

/// `touchstone theft-protection trust`: the present network is a trusted place.
struct TrustPlaceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "trust",
        abstract: "Trust the Wi-Fi network that this machine is in now, with the passcode."
    )

    func run() throws {
        try TheftProtectionCommand.change(.trustHere, "Trust this network for theft protection.")
        let here = try RemoteKeychain.shared.protection().here
        Output.complain("\(here.map { "\($0.text) is" } ?? "The network is") a trusted place.")
    }
}

/// `touchstone theft-protection distrust`: a network is no trusted place any more.
struct DistrustPlaceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "distrust",
        abstract: "Trust a Wi-Fi network no more, with the passcode."
    )

    @Argument(help: "The network's name, as touchstone theft-protection shows it.")
    var name: String

    func run() throws {
        let unknown = CommandError(
            "\(Printable.text(name)) is no trusted place",
            hint: "touchstone theft-protection",
            exitCode: .notFound
        )
        guard let bytes = NetworkPlace.name(typed: name) else { throw unknown }
        do throws(KeychainError) {
            try TheftProtectionCommand.change(.distrust(bytes), "Trust a network no more.")
        } catch {
            throw error.status == .itemNotFound ? unknown : error
        }
        Output.complain("\(Printable.text(name)) is no trusted place any more.")
    }
}

extension ProtectionReply {
    fileprivate var json: JSONText {
        .object([
            ("mode", .text(mode.name)),
            ("inEffect", .flag(isEffective)),
            ("trusted", .list(places.map { .text($0.text) })),
            ("here", .optional(here?.text)),
            ("hereFault", .optional(fault?.rawValue)),
            ("waiting", .list(waiting.map(\.json))),
        ])
    }
}

extension WaitingChange {
    fileprivate var json: JSONText {
        .object([("change", .text(String(describing: change))), ("secondsLeft", .number(secondsLeft))])
    }
}
