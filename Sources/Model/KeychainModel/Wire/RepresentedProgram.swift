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

/// What the daemon knows of the program for which a door asks: `[path, inode]`, or null for an unknown program.
public struct RepresentedReply: WireBody, Sendable, Equatable {
    /// The program's file; nil if it could not be identified.
    public let file: ProgramFile?

    /// Tells of a program.
    public init(_ file: ProgramFile?) { self.file = file }

    /// Writes the file.
    public func encode(to writer: inout WireWriter) {
        guard let file else { return writer.writeNull() }
        writer.writeArrayHead(count: 2)
        writer.write(text: file.path)
        writer.write(unsigned: file.inode)
    }

    /// Reads a file.
    public init(from reader: inout CBORReader) throws {
        file = try reader.readOptional { reader in
            try reader.readFields(2)
            return ProgramFile(path: try reader.readText(), inode: try reader.readUnsigned())
        }
    }
}
