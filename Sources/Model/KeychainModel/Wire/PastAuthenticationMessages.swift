public import CBOR

/// Past authentications: an array of `[factor, weak sensor, milliseconds since then, group]`, the newest first.
public struct PastAuthenticationsReply: WireBody, Sendable, Equatable {
    /// The most authentications in a reply: one for each kind of factor.
    public static let most = 16
    /// The authentications, the newest first.
    public let authentications: [PastAuthentication]

    /// Wraps the authentications, at most ``most``.
    public init(_ authentications: [PastAuthentication]) {
        self.authentications = Array(authentications.prefix(Self.most))
    }

    /// Writes the authentications.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: authentications.count)
        for past in authentications {
            writer.writeArrayHead(count: 4)
            writer.write(unsigned: UInt64(past.factor.rawValue))
            writer.write(past.isOfWeakSensor)
            writer.write(unsigned: past.wholeMilliseconds)
            writer.write(text: past.group.name)
        }
    }

    /// Reads the authentications; those with a factor of a later version are left out.
    public init(from reader: inout CBORReader) throws {
        let count = try reader.readArrayHead()
        guard count <= Self.most else { throw WireError.malformed }
        authentications = try (0..<count).compactMap { _ in
            try reader.readFields(4)
            let factor = UInt8(exactly: try reader.readUnsigned()).flatMap(AuthenticationFactor.init)
            let isOfWeakSensor = try reader.readBool()
            let milliseconds = Int64(clamping: try reader.readUnsigned())
            guard let group = AccessGroup(try reader.readText()) else { throw WireError.malformed }
            return factor.map { factor in
                PastAuthentication(
                    factor: factor,
                    isOfWeakSensor: isOfWeakSensor,
                    age: .milliseconds(milliseconds),
                    group: group
                )
            }
        }
    }
}
