import CBOR

/// What the broker answers: a CBOR map of what it can tell for sure, and the reason for each thing that it cannot.
package struct BrokerReply: Sendable, Equatable {
    /// A name of the map; each is told once at most.
    package enum Field: String, Sendable, CaseIterable {
        /// The path of the program in the machine's own mount namespace: text.
        ///
        /// A reply that tells it comes with a descriptor, which reads empty once the process runs another program.
        case path
        /// The device of the program's file, as `st_dev`.
        case device
        /// Its inode.
        case inode
        /// Its owner.
        case owner
        /// Its kind and mode, as `st_mode`.
        case mode
        /// Whether it has no name any more: 0 or 1.
        case deleted
        /// When the process started, in clock ticks since boot.
        case start
        /// The device of its controlling terminal; 0 for none.
        case terminal
        /// The number of its session's leader.
        case session
        /// When that one started, in clock ticks since boot.
        case sessionStart
        /// The process that traces one of its threads; 0 for none.
        case tracer
        /// Whether it is in the machine's own mount and user namespaces: 0 or 1.
        case namespaces
        /// The application that `.flatpak-info` in its root names, which its user could write as well: a hint, no name.
        case flatpak
        /// SHA-256 over the enrolled templates: bytes.
        case digest
        /// How many files of templates there are.
        case count
        /// Why nothing is told at all: text.
        case refused
    }

    /// What is told of a field.
    package enum Value: Sendable, Equatable {
        case number(UInt64)
        case text(String)
        case bytes([UInt8])
        /// It cannot be told for sure; why.
        case untold(String)
    }

    /// What is told.
    package private(set) var values: [Field: Value] = [:]

    /// Tells nothing yet.
    package init() {}

    /// Why a process that is no user's daemon is told nothing, whatever it asks.
    package static let noDaemon = "who asks is not in a unit touchstoned@UID.service"

    /// Tells why nothing is told.
    package init(refused reason: String) { values[.refused] = .text(reason) }

    /// Tells something.
    package subscript(_ field: Field) -> Value? {
        get { values[field] }
        set { values[field] = newValue }
    }

    /// A number that is told.
    package func number(_ field: Field) -> UInt64? {
        guard case .number(let number)? = values[field] else { return nil }
        return number
    }

    /// A text that is told.
    package func text(_ field: Field) -> String? {
        guard case .text(let text)? = values[field] else { return nil }
        return text
    }

    /// Bytes that are told.
    package func bytes(_ field: Field) -> [UInt8]? {
        guard case .bytes(let octets)? = values[field] else { return nil }
        return octets
    }

    /// The packet.
    package var packet: [UInt8] {
        // The order of the deterministic form: shorter names first.
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

    /// Reads a packet; nil for what is no reply.
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
