import Foundation

/// The conversation of one client with `org.freedesktop.secrets`, recorded once: a text file below `Transcripts`.
///
/// ```
/// $ secret-tool lookup user alice
/// 1 calls ~ Secret.Service.OpenSession sv: "plain" <s "">
///   gets vo: <s ""> ~/session/$session1
/// 1 calls ~/session/$session1 Secret.Session.Close
///   gets nothing
/// signal ~/collection/login Secret.Collection.ItemCreated o: ~/collection/login/$item1
/// 1 ends
/// ```
struct Transcript: Sendable {
    /// What the owner does meanwhile.
    enum Owner: String, Sendable {
        /// The keychain ends and starts again, locked.
        case locks
        /// Every box is cancelled from now on.
        case cancels
        /// Every box gets the passcode again.
        case answers
    }

    /// A message without what differs in each run.
    struct Message: Hashable, Sendable {
        /// The object: ``TranscriptValue/path(_:)``.
        let path: String
        /// Interface and member, without `org.freedesktop.` before `Secret.` and `DBus.`.
        let name: String
        /// The signature and the values: `so: "x" /`; nothing for none.
        let arguments: String

        var text: String { "\(path) \(name)" + (arguments.isEmpty ? "" : " " + arguments) }

        /// The interface and the member.
        var parts: (interface: String, member: String) {
            let full = Transcript.full(name)
            let end = full.lastIndex(of: ".") ?? full.startIndex
            return (String(full[..<end]), String(full[end...].dropFirst()))
        }
    }

    /// What a call gets.
    enum Outcome: Hashable, Sendable {
        /// The signature and the values.
        case reply(String)
        /// The name of an error.
        case error(String)
        /// The client wanted no reply, or was gone.
        case none

        var text: String {
            switch self {
            case .reply(""): "gets nothing"
            case .reply(let values): "gets \(values)"
            case .error(let name): "fails \(name)"
            case .none: "waits for nothing"
            }
        }
    }

    /// An event, in the order of the bus.
    enum Step: Hashable, Sendable {
        /// A command, which a person reads; the player does not run it.
        case command(String)
        case call(client: Int, Message, Outcome)
        /// A signal to all, or to one client.
        case signal(Message, to: Int?)
        case end(client: Int)
        case owner(Owner)

        /// One line, or two.
        var text: String {
            switch self {
            case .command(let text): "$ " + text
            case .call(let client, let message, let outcome):
                "\(client) calls \(message.text)\n  \(outcome.text)"
            case .signal(let message, nil): "signal \(message.text)"
            case .signal(let message, let client?): "signal to \(client) \(message.text)"
            case .end(let client): "\(client) ends"
            case .owner(let owner): "owner \(owner.rawValue)"
            }
        }

        /// The line's number of the outcome of a call, counted from that of the step.
        static let outcomeOffset = 1
    }

    /// A file that is no transcript.
    struct Malformed: Error {
        let line: Int
        let text: String
    }

    /// Whether this run records anew, which it reports as a failure where a transcript has changed.
    static let isWriting = ProcessInfo.processInfo.environment["TOUCHSTONE_WRITE_GOLDEN"] == "1"
    private static let directory = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("Transcripts")
    /// Where those of GNOME Keyring are.
    static let keyring = "gnome-keyring/"

    /// The transcripts of this service.
    static var names: [String] {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return files.filter { $0.hasSuffix(".txt") }.map { String($0.dropLast(4)) }.sorted()
    }

    let name: String
    /// Who spoke with whom.
    let title: String
    /// The steps with the numbers of their lines.
    let steps: [(line: Int, step: Step)]

    /// The file of a transcript.
    static func file(_ name: String) -> String { directory.appendingPathComponent(name + ".txt").path }

    /// What was recorded.
    init(_ name: String, title: String, _ steps: [Step]) {
        (self.name, self.title) = (name, title)
        self.steps = steps.map { (0, $0) }
    }

    // MARK: Names

    private static let common = "org.freedesktop."

    /// A name without what most have.
    static func short(_ name: String) -> String {
        guard name.hasPrefix(common) else { return name }
        let rest = name.dropFirst(common.count)
        return rest.hasPrefix("Secret.") || rest.hasPrefix("DBus.") ? String(rest) : name
    }

    static func full(_ name: String) -> String {
        name.hasPrefix("Secret.") || name.hasPrefix("DBus.") ? common + name : name
    }

    // MARK: The file

    private var count: String {
        let calls = steps.count { if case .call = $0.step { true } else { false } }
        let signals = steps.count { if case .signal = $0.step { true } else { false } }
        return "\(calls) calls, \(signals) signals"
    }

    /// The file's text.
    var text: String {
        """
        # \(title)
        # Recorded by TranscriptRecorder (TOUCHSTONE_WRITE_GOLDEN=1) and played by TranscriptTests, without the client.
        # ~ is \(SecretServiceWorld.root); org.freedesktop. is left out before Secret. and DBus.; paths in lists and the
        # entries of dictionaries are sorted. $NAME is what each run has otherwise. sealed "…" is encrypted in a session of
        # Diffie-Hellman: the recorder knows what the client stores, and the player agrees on a key of its own.

        \(steps.map(\.step.text).joined(separator: "\n"))
        # \(count)

        """
    }

    /// Writes the file; whether it has changed.
    func write() throws -> Bool {
        let file = Self.file(name)
        let former = try? String(contentsOfFile: file, encoding: .utf8)
        try FileManager.default.createDirectory(
            at: URL(fileURLWithPath: file).deletingLastPathComponent(),
            withIntermediateDirectories: true
        )
        try text.write(toFile: file, atomically: true, encoding: .utf8)
        return former != text
    }

    /// Reads the file of a name.
    init(_ name: String) throws {
        try self.init(name, text: try String(contentsOfFile: Self.file(name), encoding: .utf8))
    }

    /// Reads a text.
    init(_ name: String, text: String) throws {
        let lines = text.components(separatedBy: "\n")
        self.name = name
        title = lines.first.map { String($0.dropFirst(2)) } ?? ""
        var steps: [(line: Int, step: Step)] = []
        for (index, line) in lines.enumerated()
        where !line.isEmpty && !line.hasPrefix("#") && !line.hasPrefix(" ") {
            let next = lines.dropFirst(index + 1).first
            guard let step = Self.step(line, next) else {
                throw Malformed(line: index + 1, text: line)
            }
            steps.append((index + 1, step))
        }
        self.steps = steps
        // Lines that are lost would not be missed otherwise.
        let last = lines.last { !$0.isEmpty }
        guard last == "# " + count,
            lines.count(where: { $0.hasPrefix(" ") }) == steps.count(where: \.step.isCall)
        else {
            throw Malformed(
                line: lines.count - 1,
                text: "\(last ?? ""): there are \(count)"
            )
        }
    }

    private static func step(_ line: String, _ next: String?) -> Step? {
        if line.hasPrefix("$ ") { return .command(String(line.dropFirst(2))) }
        if line.hasPrefix("owner ") { return Owner(rawValue: String(line.dropFirst(6))).map(Step.owner) }
        if line.hasPrefix("signal to ") {
            let parts = line.dropFirst(10).split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let client = Int(parts[0]) else { return nil }
            return message(parts[1]).map { .signal($0, to: client) }
        }
        if line.hasPrefix("signal ") { return message(line.dropFirst(7)).map { .signal($0, to: nil) } }
        let parts = line.split(separator: " ", maxSplits: 2)
        guard parts.count >= 2, let client = Int(parts[0]) else { return nil }
        if parts[1] == "ends", parts.count == 2 { return .end(client: client) }
        guard parts[1] == "calls", parts.count == 3, let next, let outcome = outcome(next) else { return nil }
        return message(parts[2]).map { .call(client: client, $0, outcome) }
    }

    private static func message(_ text: Substring) -> Message? {
        let parts = text.split(separator: " ", maxSplits: 2).map(String.init)
        guard parts.count >= 2 else { return nil }
        return Message(path: parts[0], name: parts[1], arguments: parts.count > 2 ? parts[2] : "")
    }

    private static func outcome(_ line: String) -> Outcome? {
        switch line {
        case "  gets nothing": return .reply("")
        case "  waits for nothing": return Outcome.none
        default: break
        }
        if line.hasPrefix("  gets ") { return .reply(String(line.dropFirst(7))) }
        return line.hasPrefix("  fails ") ? .error(String(line.dropFirst(8))) : nil
    }
}

extension Transcript.Step {
    fileprivate var isCall: Bool { if case .call = self { true } else { false } }
}
