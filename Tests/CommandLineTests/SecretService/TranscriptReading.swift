import Foundation
import MessageBus

/// Makes steps of the messages that were recorded.
struct TranscriptReading {
    private typealias Message = TranscriptRecorder.Message

    private struct Reply: Hashable {
        let client: String
        let cookie: Int
    }

    private let messages: [TranscriptRecorder.Message]
    private let service: String
    private var secrets: [[UInt8]]
    private var replies: [Reply: TranscriptRecorder.Message] = [:]
    /// What each item was found to have at the end.
    private var learnt: [String: [UInt8]] = [:]
    /// The texts of encrypted secrets, by vector and bytes, which no two have in common.
    private var texts: [[UInt8]: [UInt8]] = [:]
    private var names = TranscriptNames()

    init(_ messages: [TranscriptRecorder.Message], service: String, secrets: [String]) {
        self.messages = messages
        self.service = service
        self.secrets = secrets.map { Array($0.utf8) }
        for message in messages where message.kind == .reply || message.kind == .error {
            guard let client = message.destination, let cookie = message.answered else { continue }
            replies[Reply(client: client, cookie: cookie)] = message
        }
    }

    private func isCall(_ message: Message) -> Bool {
        message.kind == .call && [service, "org.freedesktop.secrets"].contains(message.destination)
    }

    private func reply(to call: Message) -> Message? {
        replies[Reply(client: call.sender, cookie: call.cookie)]
    }

    // MARK: Secrets

    /// The items that the client stored in an encrypted session, other than those of the secrets that are known.
    var unknown: [String] {
        let items = messages.compactMap { call in
            isCall(call) && (try? sent(in: call)) != nil ? item(of: call) : nil
        }
        return Array(items.dropFirst(secrets.count))
    }

    mutating func learn(_ secret: String, of item: String) { learnt[item] = Array(secret.utf8) }

    /// The encrypted secret that a client stores.
    private func sent(in call: Message) throws -> (vector: [UInt8], octets: [UInt8])? {
        let arguments = ["CreateItem", "SetSecret"].contains(call.member) ? try call.arguments() : []
        return arguments.lazy.compactMap(Self.sealed).first
    }

    private static func sealed(_ value: BusValue) -> (vector: [UInt8], octets: [UInt8])? {
        guard value.signature == TranscriptNames.secretSignature, case .structure(let members) = value,
            let vector = members[1].octets?.plain, let octets = members[2].octets?.plain, !vector.isEmpty
        else { return nil }
        return (vector, octets)
    }

    /// The item in which a call stores a secret.
    private func item(of call: Message) -> String? {
        guard call.member == "CreateItem" else { return call.path }
        guard let reply = try? reply(to: call)?.arguments(), reply.count == 2 else { return nil }
        guard reply[0].text == "/" else { return reply[0].text }
        let end = messages.first { $0.member == "Completed" && $0.path == reply[1].text }
        return (try? end?.arguments())?.last?.content?.text
    }

    /// The texts of all encrypted secrets.
    private mutating func readSecrets() throws {
        var rest = secrets[...]
        var present: [String: [UInt8]] = [:]
        // A locked item has another path; the player shows whether it was this one.
        var latest: [Int: [UInt8]] = [:]
        for call in messages where isCall(call) {
            if let (vector, octets) = try sent(in: call) {
                let item = item(of: call)
                guard let text = rest.popFirst() ?? item.flatMap({ learnt[$0] }),
                    octets.count == (text.count / 16 + 1) * 16
                else {
                    throw TranscriptRecorder.Unusable(text: "what was stored in \(item ?? "?")?")
                }
                texts[vector + octets] = text
                latest[octets.count] = text
                if let item { present[item] = text }
            }
            guard let reply = reply(to: call), reply.kind == .reply else { continue }
            for value in try reply.arguments() {
                if let (vector, octets) = Self.sealed(value) {
                    texts[vector + octets] = present[call.path] ?? latest[octets.count]
                }
                guard case .array(of: "{o(oayays)}", let entries) = value else { continue }
                for case .entry(let item, let secret) in entries {
                    guard let (vector, octets) = Self.sealed(secret) else { continue }
                    texts[vector + octets] = present[item.text ?? ""] ?? latest[octets.count]
                }
            }
        }
    }

    // MARK: Steps

    /// The steps, in the order of the bus; the reply to a call is with the call.
    mutating func steps() throws -> [Transcript.Step] {
        try readSecrets()
        var clients: [String: Int] = [:]
        var steps: [Transcript.Step] = []
        for message in messages {
            switch message.kind {
            case .call where isCall(message):
                let client = clients[message.sender] ?? clients.count + 1
                clients[message.sender] = client
                let text = try self.text(of: message)
                steps.append(.call(client: client, text, try outcome(of: message)))
            case .signal where message.interface == "touchstone.Transcript":
                let parts = message.json.compactMap { $0 as? String }
                if parts.first == "command" { steps.append(.command(parts[1])) }
                if parts.first == "owner", let owner = Transcript.Owner(rawValue: parts[1]) {
                    steps.append(.owner(owner))
                }
            case .signal where message.sender == service:
                let client = message.destination.map { clients[$0] }
                if let client, client == nil { continue }
                steps.append(.signal(try text(of: message), to: client ?? nil))
            case .signal where message.member == "NameOwnerChanged":
                let parts = message.json.compactMap { $0 as? String }
                guard parts.count == 3, parts[2].isEmpty, let client = clients[parts[0]] else { continue }
                steps.append(.end(client: client))
            default: continue
            }
        }
        return steps
    }

    private mutating func text(of message: Message) throws -> Transcript.Message {
        let path = names.name(path: message.path)
        return Transcript.Message(
            path: path,
            name: Transcript.short(message.interface + "." + message.member),
            arguments: names.text(
                of: try message.arguments(),
                at: message.member,
                isSorted: message.kind != .call
            ) {
                [texts] in texts[$1 + $2]
            }
        )
    }

    private mutating func outcome(of call: Message) throws -> Transcript.Outcome {
        guard let reply = reply(to: call) else { return .none }
        guard reply.kind == .reply else { return .error(Transcript.short(reply.errorName)) }
        return .reply(
            names.text(of: try reply.arguments(), at: call.member) { [texts] in texts[$1 + $2] }
        )
    }
}
