internal import AccountStore
internal import WebAuthnModel

/// A head as a line of a file: JSON with hashes in hexadecimal, and positions as strings, since they may exceed JSON's exact
/// numbers.
extension AuditHead {
    /// The maximum length of a line.
    static let mostLineBytes = 1024

    /// Reads a line; nil: it is none, or its value is not that of the other members.
    init?(line: some Collection<UInt8>) {
        guard line.count <= Self.mostLineBytes, let members = try? JSONValue(parsing: Array(line)).object,
            let after = members["after"]?.string.flatMap({ Int64($0) }), after >= 0,
            let position = members["position"]?.string.flatMap({ Int64($0) }), position > after,
            let count = members["count"]?.integer, (1...Int64(Self.mostRecords)).contains(count),
            let oldest = members["oldest"]?.integer,
            let digest = Self.hash(members["digest"]), let previous = Self.hash(members["previous"]),
            let value = Self.hash(members["head"])
        else { return nil }
        self.init(
            after: after,
            position: position,
            count: Int(count),
            oldest: Timestamp(milliseconds: oldest),
            digest: digest,
            previous: previous
        )
        guard self.value == value else { return nil }
    }

    /// The line, with its end.
    var line: [UInt8] {
        let text = """
            {"after":"\(after)","position":"\(position)","count":\(count),"oldest":\(oldest.milliseconds),\
            "digest":"\(digest.hexadecimal)","previous":"\(previous.hexadecimal)","head":"\(value.hexadecimal)"}

            """
        return Array(text.utf8)
    }

    private static func hash(_ value: JSONValue?) -> [UInt8]? {
        value?.string.flatMap { [UInt8](hexadecimal: $0) }.flatMap { $0.count == 32 ? $0 : nil }
    }
}
