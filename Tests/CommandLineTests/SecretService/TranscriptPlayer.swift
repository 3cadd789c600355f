import Crypto
import CryptoExtras
import Foundation
import MessageBus
import SecretMemory
import TouchstoneTesting

/// Says a client's part of a transcript to the real service, and expects the recorded answers.
///
/// What comes is named as the recorder named it, and has to have the recorded text: the values, their types, the errors, and the
/// signals in their order. An encrypted session is encrypted here too.
struct TranscriptPlayer {
    /// How long a signal that was recorded may take.
    private static let patience = Duration.seconds(10)

    /// What came is not what was recorded, or could not be played.
    private struct Difference: Error {
        let text: String
        /// The outcome of a call is on the line after it.
        var isOutcome = false
    }

    /// The first difference, and where it is.
    struct Problem: Sendable {
        let line: Int
        let text: String
    }

    /// A connection and the signals that came on it.
    private struct Listener {
        let peer: BusPeer
        private let signals = Guarded<[BusPeer.Signal]>([])

        init(_ address: String) async throws {
            peer = try await BusPeer(address: address)
            let (stream, journal) = (peer.signals, signals)
            Task {
                for await signal in stream where signal.interface != "org.freedesktop.DBus" {
                    journal.withLock { $0.append(signal) }
                }
            }
        }

        /// The next signal, which is then forgotten; nil if none has come.
        func next() -> BusPeer.Signal? { signals.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
    }

    private let world: SecretServiceWorld
    /// Hears the signals to all.
    private let listener: Listener
    private var clients: [Int: Listener] = [:]
    private var names = TranscriptNames()
    /// The keys of encrypted sessions, by path.
    private var keys: [String: SymmetricKey] = [:]

    init(_ world: SecretServiceWorld) async throws {
        self.world = world
        listener = try await Listener(world.bus.address)
        try await listener.peer.subscribe("type='signal',sender='org.freedesktop.secrets'")
    }

    /// Plays a transcript to its end, or to the first difference.
    mutating func play(_ transcript: Transcript) async throws -> Problem? {
        for (line, step) in transcript.steps {
            do {
                try await play(step)
            } catch let difference as Difference {
                let offset = difference.isOutcome ? Transcript.Step.outcomeOffset : 0
                return Problem(line: line + offset, text: difference.text)
            }
        }
        // Whatever the service sent before this reply is here.
        _ = try await listener.peer.call(
            Bus.Target("org.freedesktop.secrets", SecretServiceWorld.root, "org.freedesktop.DBus.Peer"),
            "Ping"
        )
        for listener in [listener] + clients.values {
            guard let signal = listener.next() else { continue }
            return Problem(line: transcript.steps.last?.line ?? 0, text: "more came: \(text(of: signal))")
        }
        for client in clients.values { await client.peer.close() }
        await listener.peer.close()
        return nil
    }

    private mutating func play(_ step: Transcript.Step) async throws {
        switch step {
        case .command: break
        case .owner(let owner): try await world.perform(owner)
        case .end(let client):
            guard let gone = clients.removeValue(forKey: client) else { break }
            if let signal = gone.next() { throw Difference(text: "more came: \(text(of: signal))") }
            await gone.peer.close()
        case .call(let client, let message, let outcome):
            try await play(message, outcome, try await self.client(client))
        case .signal(let message, let client):
            let listener = if let client { try await self.client(client) } else { listener }
            let signal: BusPeer.Signal
            do {
                signal = try await Deadline.wait(for: message.text, atMost: Self.patience) { listener.next() }
            } catch TestKitError.timedOut {
                throw Difference(text: "the signal did not come")
            }
            let text = text(of: signal)
            guard text == message.text else {
                throw Difference(text: "recorded: \(message.text)\nnow: \(text)")
            }
        }
    }

    private mutating func client(_ number: Int) async throws -> Listener {
        if let client = clients[number] { return client }
        let client = try await Listener(world.bus.address)
        clients[number] = client
        return client
    }

    private mutating func play(
        _ message: Transcript.Message,
        _ outcome: Transcript.Outcome,
        _ client: Listener
    ) async throws {
        let target: Bus.Target
        let arguments: [BusValue]
        let (interface, member) = message.parts
        do {
            target = Bus.Target("org.freedesktop.secrets", try names.path(message.path), interface)
            arguments = try self.arguments(message)
        } catch let error as TranscriptNames.Unsendable {
            throw Difference(text: "cannot be sent: \(error.text)")
        } catch let error as TranscriptValue.Malformed {
            throw Difference(text: "cannot be read: \(error.rest)")
        }
        let now: Transcript.Outcome
        do throws(BusError) {
            let reply = try await client.peer.call(target, member, arguments)
            if member == "OpenSession" { agree(reply) }
            now = .reply(names.text(of: reply, at: member) { [keys] in Self.unseal($0, $1, $2, keys) })
        } catch {
            guard case .remote(let name, _) = error else {
                throw Difference(text: "\(error)", isOutcome: true)
            }
            now = .error(Transcript.short(name))
        }
        guard outcome == now || outcome == .none else {
            throw Difference(text: "recorded: \(outcome.text)\nnow: \(now.text)", isOutcome: true)
        }
    }

    private mutating func arguments(_ message: Transcript.Message) throws -> [BusValue] {
        let parts = message.arguments.split(separator: ": ", maxSplits: 1)
        guard parts.count == 2 else {
            guard message.arguments.isEmpty else { throw TranscriptValue.Malformed(rest: message.arguments) }
            return []
        }
        return try zip(TranscriptValue.values(parts[1], parts[0]), TranscriptValue.types(of: parts[0])).map {
            value,
            type in
            if case .variant("ay", .name("key")) = value {
                return .variant(.octets(try BusOctets(copying: Self.publicValue)))
            }
            return try names.value(value, type) { [keys] in try Self.seal($0, $1, keys) }
        }
    }

    private mutating func text(of signal: BusPeer.Signal) -> String {
        Transcript.Message(
            path: names.name(path: signal.path),
            name: Transcript.short(signal.interface + "." + signal.member),
            arguments: names.text(of: signal.arguments, at: signal.member) { [keys] in
                Self.unseal($0, $1, $2, keys)
            }
        ).text
    }

    // MARK: Encrypted sessions

    /// Two to the power of one, which is the secret number here: the service's public value is the common secret then.
    private static let publicValue = [UInt8](repeating: 0, count: 127) + [2]

    /// Keeps the key of a session that begins.
    private mutating func agree(_ reply: [BusValue]) {
        guard reply.count == 2, let common = reply[0].content?.octets?.plain, let session = reply[1].text
        else { return }
        keys[session] = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(
                data: [UInt8](repeating: 0, count: max(0, 128 - common.count)) + common
            ),
            outputByteCount: 16
        )
    }

    private static func seal(
        _ session: String,
        _ text: [UInt8],
        _ keys: [String: SymmetricKey]
    ) throws -> (vector: [UInt8], octets: [UInt8]) {
        guard let key = keys[session] else { throw TranscriptNames.Unsendable(text: session) }
        let vector = (0..<16).map { _ in UInt8.random(in: 0...255) }
        return (vector, Array(try AES._CBC.encrypt(text, using: key, iv: AES._CBC.IV(ivBytes: vector))))
    }

    private static func unseal(
        _ session: String,
        _ vector: [UInt8],
        _ octets: [UInt8],
        _ keys: [String: SymmetricKey]
    ) -> [UInt8]? {
        guard let key = keys[session], let vector = try? AES._CBC.IV(ivBytes: vector) else { return nil }
        return (try? AES._CBC.decrypt(octets, using: key, iv: vector)).map { Array($0) }
    }
}
