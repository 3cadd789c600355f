import CBOR

/// The broker's reply: a CBOR map of the facts it verified, and the reason for each one it could not.
package struct BrokerReply: Sendable, Equatable {
    /// A key of the map; each occurs at most once.
    package enum Field: String, Sendable, CaseIterable {
        /// The path of the program in the machine's own mount namespace: text.
        ///
        /// A reply with a path comes with a descriptor, which reads empty once the process has executed another
        /// program.
        case path = "path"
        /// The device of the program's file, as `st_dev`.
        case device = "device"
        /// Its inode.
        case inode = "inode"
        /// Its owner.
        case owner = "owner"
        /// Its kind and mode, as `st_mode`.
        case mode = "mode"
        /// Whether the file has been deleted: 0 or 1.
        case deleted = "deleted"
        /// When the process started, in clock ticks since boot.
        case start = "start"
        /// The device of its controlling terminal; 0 for none.
        case terminal = "terminal"
        /// The pid of its session's leader.
        case session = "session"
        /// When the session's leader started, in clock ticks since boot.
        case sessionStart = "sessionStart"
        /// The process that traces one of its threads (ptrace); 0 for none.
        case tracer = "tracer"
        /// Whether it is in the machine's own mount and user namespaces: 0 or 1.
        case namespaces = "namespaces"
        /// The application that `.flatpak-info` in its root names; its user could write that file, so it is only a
        /// hint.
        case flatpak = "flatpak"
        /// SHA-256 over the enrolled templates: bytes.
        case digest = "digest"
        /// The number of template files.
        case count = "count"
        /// Why the whole request was refused: text.
        case refused = "refused"
        /// Why the process could not be identified, though it runs: text. It may be any program, not an unknown one.
        case fault = "fault"
        /// The programs that started it, the nearest first, separated by ", ": text.
        case startedBy = "startedBy"
    }

    /// The value of a field.
    package enum Value: Sendable, Equatable {
        case number(UInt64)
        case text(String)
        case bytes([UInt8])
        /// The fact could not be verified, with the reason.
        case untold(String)
    }

    /// The fields of the reply.
    package private(set) var values: [Field: Value] = [:]

    /// Creates an empty reply.
    package init() {}

    /// The refusal for a process that is not a user's daemon, whatever it requests.
    package static let noDaemon = "who asks is not in a unit touchstoned@UID.service"

    /// Creates a refusal with its reason.
    package init(refused reason: String) { values[.refused] = .text(reason) }

    /// Reports that the process could not be identified, and why.
    package init(fault reason: String) { values[.fault] = .text(reason) }

    /// The value of a field; nil if it is absent.
    package subscript(_ field: Field) -> Value? {
        get { values[field] }
        set { values[field] = newValue }
    }

    /// The number in a field; nil for another value.
    package func number(_ field: Field) -> UInt64? {
        guard case .number(let number)? = values[field] else { return nil }
        return number
    }

    /// The text in a field; nil for another value.
    package func text(_ field: Field) -> String? {
        guard case .text(let text)? = values[field] else { return nil }
        return text
    }

    /// The bytes in a field; nil for another value.
    package func bytes(_ field: Field) -> [UInt8]? {
        guard case .bytes(let octets)? = values[field] else { return nil }
        return octets
    }

    /// The encoded packet.
    package var packet: [UInt8] {
        // The key order of the deterministic form: shorter names first.
        let fields = values.sorted { one, other in
            let (one, other) = (Array(one.key.rawValue.utf8), Array(other.key.rawValue.utf8))
            return one.count == other.count
                ? one.lexicographicallyPrecedes(other) : one.count < other.count
        }
        var writer = CBORWriter([UInt8]())
        writer.writeMapHead(count: fields.count)
        for (field, value) in fields {
            writer.write(text: field.rawValue)
            switch value {
            case .number(let number): writer.write(unsigned: number)
            case .text(let text): writer.write(text: text)
            case .bytes(let octets): writer.write(bytes: octets)
            case .untold(let reason):
                writer.writeArrayHead(count: 1)
                writer.write(text: reason)
            }
        }
        return writer.finish()
    }

    /// Decodes a packet; nil if it is not a valid reply.
    package init?(packet: [UInt8]) {
        do throws(CBORError) {
            values = try CBORReader.read(packet, limits: BrokerRequest.limits) { reader throws(CBORError) in
                var values: [Field: Value] = [:]
                for _ in 0..<(try reader.readMapHead()) {
                    let start = reader.offset
                    guard let field = Field(rawValue: try reader.readText()) else {
                        throw CBORError(.typeMismatch, at: start)
                    }
                    values[field] = try Self.value(from: &reader)
                }
                return values
            }
        } catch {
            return nil
        }
    }

    private static func value(from reader: inout CBORReader) throws(CBORError) -> Value {
        switch try reader.peekType() {
        case .unsigned: return .number(try reader.readUnsigned())
        case .text: return .text(try reader.readText())
        case .bytes: return .bytes(try reader.readBytes())
        default:
            let start = reader.offset
            guard try reader.readArrayHead() == 1 else { throw CBORError(.typeMismatch, at: start) }
            return .untold(try reader.readText())
        }
    }
}
