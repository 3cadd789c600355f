package import CBOR

/// A request of the daemon to the broker: one CBOR map in one packet.
package enum BrokerRequest: Sendable, Equatable {
    /// Identify the process whose pidfd comes with the packet.
    case identify
    /// Compute a digest of the fingers enrolled for a user.
    case enrolment(uid: UInt32)

    /// The broker's socket.
    package static let socket = "/run/touchstone-broker/socket"
    /// The longest packet that either side reads.
    package static let longest = 4096
    /// The CBOR limits of either side.
    package static let limits = CBORLimits(depth: 2, octets: longest, allowsFloats: false)

    /// The encoded packet.
    package var packet: [UInt8] {
        var writer = CBORWriter([UInt8]())
        switch self {
        case .identify:
            writer.writeMapHead(count: 1)
            writer.write(text: "verb")
            writer.write(text: "identify")
        case .enrolment(let uid):
            writer.writeMapHead(count: 2)
            writer.write(text: "uid")
            writer.write(unsigned: UInt64(uid))
            writer.write(text: "verb")
            writer.write(text: "enrolment")
        }
        return writer.finish()
    }

    /// Decodes a packet; nil if it is not a valid request.
    package init?(packet: [UInt8]) {
        do throws(CBORError) {
            self = try CBORReader.read(packet, limits: Self.limits) { reader throws(CBORError) in
                try Self(from: &reader)
            }
        } catch {
            return nil
        }
    }

    private init(from reader: inout CBORReader) throws(CBORError) {
        let start = reader.offset
        let mismatch = CBORError(.typeMismatch, at: start)
        switch try reader.readMapHead() {
        case 1:
            guard try reader.readText() == "verb", try reader.readText() == "identify" else { throw mismatch }
            self = .identify
        case 2:
            guard try reader.readText() == "uid",
                let uid = UInt32(exactly: try reader.readUnsigned()), uid != .max,
                try reader.readText() == "verb", try reader.readText() == "enrolment"
            else { throw mismatch }
            self = .enrolment(uid: uid)
        default: throw mismatch
        }
    }
}
