public import CBOR

/// Says which places an agent draws at:
/// `[kind, terminal, session, session start, display, wayland display, version]`.
///
/// An agent is the one program of the user's that may draw boxes for a daemon of another account; the daemon knows it by
/// the group of its peer. It has looked its terminal up itself, from what the kernel says of its own process.
public struct AgentRegistration: WireBody, Sendable, Equatable {
    /// Where an agent draws.
    public enum Place: Sendable, Hashable {
        /// On its controlling terminal `/dev/…`, of the session whose leader has this process number and started then
        /// (clock ticks since boot, `/proc/PID/stat`, field 22).
        case terminal(path: String, session: Int32, start: UInt64)
        /// On the display of the user's graphical session: `DISPLAY` and `WAYLAND_DISPLAY`, of which there is one at least.
        case graphical(display: String?, waylandDisplay: String?)
    }

    /// The longest name of a place, in bytes.
    public static let longestName = 255

    /// Where it draws.
    public let place: Place
    /// The agent's version, for people.
    public let version: String

    /// Describes an agent.
    public init(_ place: Place, version: String) {
        self.place = place
        self.version = version
    }

    /// Writes the description.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 7)
        switch place {
        case .terminal(let path, let session, let start):
            writer.write(unsigned: 1)
            writer.write(text: path)
            writer.write(Int64(session))
            writer.write(unsigned: start)
            writer.writeNull()
            writer.writeNull()
        case .graphical(let display, let waylandDisplay):
            writer.write(unsigned: 2)
            writer.writeNull()
            writer.writeNull()
            writer.writeNull()
            writer.write(optionalText: display)
            writer.write(optionalText: waylandDisplay)
        }
        writer.write(text: version)
    }

    /// Reads a description.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(7)
        switch try reader.readUnsigned() {
        case 1:
            let path = try reader.readName()
            guard path.hasPrefix("/dev/"), let session = Int32(exactly: try reader.readInteger()), session > 0
            else { throw WireError.malformed }
            place = .terminal(path: path, session: session, start: try reader.readUnsigned())
            for _ in 0..<2 { try reader.readNull() }
        case 2:
            for _ in 0..<3 { try reader.readNull() }
            let display = try reader.readOptional { try $0.readName() }
            let waylandDisplay = try reader.readOptional { try $0.readName() }
            guard display != nil || waylandDisplay != nil else { throw WireError.malformed }
            place = .graphical(display: display, waylandDisplay: waylandDisplay)
        default: throw WireError.malformed
        }
        version = try reader.readName()
    }
}

/// What a registered agent draws with: `[program, is for tests]`.
public struct AgentAdmission: WireBody, Sendable, Equatable {
    /// The pinentry program that the daemon's settings name; nil for the system's.
    public let pinentryProgram: String?
    /// Whether the daemon is one of tests, whose program anybody may own; no agent with rights of its own believes it.
    public let isForTests: Bool

    /// Describes the daemon's choice.
    public init(pinentryProgram: String?, isForTests: Bool) {
        self.pinentryProgram = pinentryProgram
        self.isForTests = isForTests
    }

    /// Writes the choice.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(optionalText: pinentryProgram)
        writer.write(isForTests)
    }

    /// Reads a choice.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        pinentryProgram = try reader.readOptional { try $0.readText() }
        isForTests = try reader.readBool()
    }
}

extension CBORReader {
    /// Reads a name of an agent's: a terminal, a display, a version, a cause.
    mutating func readName() throws -> String {
        let name = try readText()
        guard !name.isEmpty, name.utf8.count <= AgentRegistration.longestName, !name.utf8.contains(0) else {
            throw WireError.malformed
        }
        return name
    }
}
