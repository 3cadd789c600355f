public import CBOR

/// The progress of a request: `[done, total]`.
///
/// A reply with `more` to ``Method/check``, ``Method/repair`` and ``Method/importKeychain``, before the last one.
public struct ProgressBody: WireBody, Sendable, Equatable {
    /// The completed steps.
    public let done: Int
    /// All steps; greater than 0.
    public let total: Int

    /// Wraps the numbers.
    public init(done: Int, total: Int) {
        self.done = done
        self.total = total
    }

    /// Writes the numbers.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(unsigned: UInt64(max(0, done)))
        writer.write(unsigned: UInt64(max(0, total)))
    }

    /// Reads the numbers.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        done = Int(clamping: try reader.readUnsigned())
        total = Int(clamping: try reader.readUnsigned())
        guard done <= total, total > 0 else { throw WireError.malformed }
    }
}
