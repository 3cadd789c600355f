import Foundation
import Glibc
import MessageBus
import ScriptedDaemon
import TouchstoneTesting

/// Writes down what clients and the service say to each other, as `busctl monitor` sees it.
///
/// `busctl` reads the bus because our own library drops replies to others.
struct TranscriptRecorder: Sendable {
    /// What could not be recorded.
    struct Unusable: Error {
        let text: String
    }

    private static let interface = "touchstone.Transcript"
    private static let monitor = "/usr/bin/busctl"
    static var isPossible: Bool { Programs.isBuilt(monitor) }

    let world: SecretServiceWorld
    /// Sends the notes, which come between the messages; nil if nothing is recorded.
    private let peer: BusPeer?
    private let log: String
    private let running: StartedCommand?

    fileprivate init(idle world: SecretServiceWorld) {
        (self.world, peer, log, running) = (world, nil, "", nil)
    }

    fileprivate init(_ world: SecretServiceWorld) async throws {
        self.world = world
        log = world.keychain.home.path + "/bus.json"
        var run = CommandRun(home: world.keychain.home)
        run.program = "/bin/sh"
        run.arguments = [
            "-c", "exec \(Self.monitor) --address=\"$0\" --json=short monitor >\"$1\"", world.bus.address,
            log,
        ]
        running = try run.start()
        peer = try await BusPeer(address: world.bus.address)
        try await Deadline.wait(for: "the monitor") {
            try await note("start")
            return try hasNote("start") ? true : nil
        }
    }

    private func note(_ kind: String, _ text: String = "") async throws {
        guard let peer else { return }
        try await peer.emit(
            BusPeer.Signal("/transcript", Self.interface, "Note", [.string(kind), .string(text)])
        )
        try await peer.flush()
    }

    private func hasNote(_ kind: String) throws -> Bool {
        try Self.messages(in: log).contains {
            $0.interface == Self.interface && $0.json.first as? String == kind
        }
    }

    /// Lets the owner do something, as the player will.
    func owner(_ owner: Transcript.Owner) async throws {
        try await note("owner", owner.rawValue)
        try await world.perform(owner)
    }

    /// Runs a client's program.
    @discardableResult
    func run(_ program: String, _ arguments: String..., input: String? = nil) async throws -> CommandResult {
        let name = program.split(separator: "/").last.map(String.init) ?? program
        try await command(
            ([name] + arguments).map { $0.contains(" ") ? "'\($0)'" : $0 }.joined(separator: " ")
        )
        return try await world.run(program, all: arguments, input: input)
    }

    /// Runs a script of Python's.
    @discardableResult
    func python(_ script: String) async throws -> CommandResult {
        for line in script.split(separator: "\n") { try await command("python3: " + line) }
        var run = CommandRun(arguments: ["-c", script], home: world.keychain.home)
        run.program = "/usr/bin/python3"
        run.environment = world.variables
        return try await run.run()
    }

    /// Says what comes now; a person reads it.
    func command(_ text: String) async throws { try await note("command", text) }

    /// Ends the recording.
    ///
    /// `secrets` is what the client stores, in its order; what is not among it is read from the items at the end.
    fileprivate func transcript(_ name: String, title: String, knowing secrets: [String]) async throws
        -> Transcript
    {
        guard let peer, let running else { throw Unusable(text: "nothing is recorded") }
        try await Deadline.wait(for: "the last message") {
            try await note("end")
            return try hasNote("end") ? true : nil
        }
        kill(running.processID, SIGTERM)
        _ = await running.result()
        guard let service = try await peer.owner(of: "org.freedesktop.secrets") else {
            throw Unusable(text: "the service has gone")
        }
        await peer.close()
        var reading = TranscriptReading(try Self.messages(in: log), service: service, secrets: secrets)
        let asked = try await world.client()
        for item in reading.unknown {
            if let secret = try? await asked.read(item) { reading.learn(secret, of: item) }
        }
        return Transcript(name, title: title, try reading.steps())
    }

    // MARK: What busctl wrote

    /// A message of the bus.
    struct Message {
        enum Kind: String {
            case call = "method_call"
            case reply = "method_return"
            case error
            case signal
        }

        let kind: Kind
        let sender: String
        let destination: String?
        let cookie: Int
        let answered: Int?
        let wantsReply: Bool
        let path: String
        let interface: String
        let member: String
        let errorName: String
        let signature: String
        let json: [Any]

        fileprivate init?(_ line: Substring) {
            guard let value = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any],
                let kind = (value["type"] as? String).flatMap(Kind.init),
                let sender = value["sender"] as? String,
                let cookie = value["cookie"] as? Int, let payload = value["payload"] as? [String: Any],
                let signature = payload["type"] as? String, let json = payload["data"] as? [Any]
            else { return nil }
            (self.kind, self.sender, self.cookie, self.signature, self.json) = (
                kind, sender, cookie, signature, json
            )
            destination = value["destination"] as? String
            answered = value["reply_cookie"] as? Int
            wantsReply = (value["flags"] as? Int ?? 0) & 1 == 0
            path = value["path"] as? String ?? ""
            interface = value["interface"] as? String ?? ""
            member = value["member"] as? String ?? ""
            errorName = value["error_name"] as? String ?? ""
        }

        /// The arguments.
        func arguments() throws -> [BusValue] {
            let types = TranscriptValue.types(of: signature)
            guard types.count == json.count else { throw Unusable(text: "\(signature): \(json)") }
            return try zip(json, types).map { try Self.value($0, $1) }
        }

        private static func value(_ json: Any, _ type: String) throws -> BusValue {
            let value: BusValue?
            switch (type.first, json) {
            case ("s", let text as String): value = .string(text)
            case ("o", let text as String): value = .objectPath(text)
            case ("g", let text as String): value = .signature(text)
            case ("b", let number as NSNumber): value = .boolean(number.boolValue)
            case ("y", let number as NSNumber): value = .byte(number.uint8Value)
            case ("i", let number as NSNumber): value = .int32(number.int32Value)
            case ("u", let number as NSNumber): value = .uint32(number.uint32Value)
            case ("x", let number as NSNumber): value = .int64(number.int64Value)
            case ("t", let number as NSNumber): value = .uint64(number.uint64Value)
            case ("d", let number as NSNumber): value = .double(number.doubleValue)
            case ("v", let variant as [String: Any]):
                let content = variant["data"] ?? NSNull()
                value = .variant(try self.value(content, variant["type"] as? String ?? ""))
            case ("a", let octets as [NSNumber]) where type == "ay":
                value = .octets(try BusOctets(copying: octets.map(\.uint8Value)))
            case ("a", let pairs as [String: Any]) where type.hasPrefix("a{"):
                let types = TranscriptValue.types(of: type.dropFirst(2).dropLast())
                value = .array(
                    of: String(type.dropFirst()),
                    try pairs.sorted { $0.key < $1.key }.map {
                        .entry(try self.value($0.key, types[0]), try self.value($0.value, types[1]))
                    }
                )
            case ("a", let elements as [Any]):
                let element = String(type.dropFirst())
                value = .array(of: element, try elements.map { try self.value($0, element) })
            case ("(", let members as [Any]):
                let types = TranscriptValue.types(of: type.dropFirst().dropLast())
                value = .structure(try zip(members, types).map { try self.value($0, $1) })
            default: value = nil
            }
            guard let value else { throw Unusable(text: "\(type): \(json)") }
            return value
        }
    }

    private static func messages(in file: String) throws -> [Message] {
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return [] }
        return text.split(separator: "\n").compactMap(Message.init)
    }
}

extension SecretServiceWorld {
    /// Records what clients and the service of this world say to each other while `body` runs; without
    /// `TOUCHSTONE_WRITE_GOLDEN=1` runs it alone.
    ///
    /// The transcript names the versions of the client's `packages` and of the `service`, if that is not ours. `secrets` is what
    /// the client stores in encrypted sessions, in its order; what is missing there is read from the items at the end. True if the
    /// transcript is another than before.
    @discardableResult
    func record(
        _ name: String,
        of packages: [String],
        with service: String? = nil,
        knowing secrets: [String] = [],
        _ body: (TranscriptRecorder) async throws -> Void
    ) async throws -> Bool {
        guard Transcript.isWriting, TranscriptRecorder.isPossible else {
            try await body(TranscriptRecorder(idle: self))
            return false
        }
        var versions: [String] = []
        for package in packages + (service.map { [$0] } ?? []) {
            let version = try await run("/usr/bin/dpkg-query", "-W", "-f", "${Package} ${Version}", package)
            versions.append(version.status == 0 ? version.text : package)
        }
        let other = service == nil ? "touchstone-secrets" : versions.removeLast()
        let recorder = try await TranscriptRecorder(self)
        try await body(recorder)
        let title = versions.joined(separator: ", ") + " with " + other
        return try await recorder.transcript(name, title: title, knowing: secrets).write()
    }

    /// Lets the owner do something.
    func perform(_ owner: Transcript.Owner) async throws {
        switch owner {
        case .locks: try await makeCold()
        case .cancels: try keychain.setCancels(true)
        case .answers: try keychain.setCancels(false)
        }
    }
}
