public import CBOR

/// The program for which a door asks: `[pid, start]`.
public struct RepresentedProgram: WireBody, Sendable, Equatable {
    /// Its process.
    public let process: Int32
    /// When that started, in clock ticks since boot (`/proc/PID/stat`, field 22).
    public let start: UInt64

    /// Describes a program by its process.
    public init(process: Int32, start: UInt64) {
        self.process = process
        self.start = start
    }

    /// Writes the process.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(unsigned: UInt64(process))
        writer.write(unsigned: start)
    }

    /// Reads the process.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        guard let process = Int32(exactly: try reader.readUnsigned()), process > 0 else {
            throw WireError.malformed
        }
        self.process = process
        start = try reader.readUnsigned()
    }
}
