public import CBOR

/// Registers the place where an agent draws.
///
/// `[kind, terminal, session, session start, login, display, wayland display, version]`. An agent is the only program of the
/// user that may draw prompts for a daemon of another account; the daemon recognises it by the group of its peer. The
/// agent determines its terminal itself, from the kernel's facts about its own process.
public struct AgentRegistration: WireBody, Sendable, Equatable {
    /// The place where an agent draws.
    public enum Place: Sendable, Hashable {
        /// Its controlling terminal `/dev/…`, in the session whose leader has this pid and start time (clock ticks
        /// since boot, `/proc/PID/stat`, field 22), and the agent's login (``KernelLogin``); nil without one.
        case terminal(path: String, session: Int32, start: UInt64, login: UInt32? = nil)
        /// The display of the user's graphical session: `DISPLAY` and `WAYLAND_DISPLAY`, at least one of them, and the agent's
        /// login; nil without one, as for services of the user's service manager.
        case graphical(display: String?, waylandDisplay: String?, login: UInt32? = nil)

        /// The agent's login (``KernelLogin``); nil without one.
        public var login: UInt32? {
            switch self {
            case .terminal(_, _, _, let login), .graphical(_, _, let login): login
            }
        }
    }

    /// The longest name of a place, in bytes.
    public static let longestName = 255

    /// The place where it draws.
    public let place: Place
    /// The agent's version, for display.
    public let version: String

    /// Describes an agent.
    public init(_ place: Place, version: String) {
        self.place = place
        self.version = version
    }

    /// Writes the description.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 8)
        switch place {
        case .terminal(let path, let session, let start, let login):
            writer.write(unsigned: 1)
            writer.write(text: path)
            writer.write(Int64(session))
            writer.write(unsigned: start)
            writer.write(optionalUnsigned: login.map { UInt64($0) })
            writer.writeNull()
            writer.writeNull()
        case .graphical(let display, let waylandDisplay, let login):
            writer.write(unsigned: 2)
            writer.writeNull()
            writer.writeNull()
            writer.writeNull()
            writer.write(optionalUnsigned: login.map { UInt64($0) })
            writer.write(optionalText: display)
            writer.write(optionalText: waylandDisplay)
        }
        writer.write(text: version)
    }

    /// Reads a description.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(8)
        switch try reader.readUnsigned() {
        case 1:
            let path = try reader.readName()
            guard TerminalPath.isUsable(path), let session = Int32(exactly: try reader.readInteger()),
                session > 0
            else { throw WireError.malformed }
            let start = try reader.readUnsigned()
            let login = try reader.readOptional { try $0.readUInt32() }
            place = .terminal(path: path, session: session, start: start, login: login)
            for _ in 0..<2 { try reader.readNull() }
        case 2:
            for _ in 0..<3 { try reader.readNull() }
            let login = try reader.readOptional { try $0.readUInt32() }
            let display = try reader.readOptional { try $0.readName() }
            let waylandDisplay = try reader.readOptional { try $0.readName() }
            guard display != nil || waylandDisplay != nil else { throw WireError.malformed }
            place = .graphical(display: display, waylandDisplay: waylandDisplay, login: login)
        default: throw WireError.malformed
        }
        version = try reader.readName()
    }
}

/// The pinentry program of a registered agent: `[program, is for tests]`.
public struct AgentAdmission: WireBody, Sendable, Equatable {
    /// The pinentry program in the daemon's settings; nil for the system's.
    public let pinentryProgram: String?
    /// Whether the daemon is a test's, whose program any user may own; an agent with special rights ignores it.
    public let isForTests: Bool

    /// Describes the daemon's settings.
    public init(pinentryProgram: String?, isForTests: Bool) {
        self.pinentryProgram = pinentryProgram
        self.isForTests = isForTests
    }

    /// Writes the settings.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(optionalText: pinentryProgram)
        writer.write(isForTests)
    }

    /// Reads the settings.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        pinentryProgram = try reader.readOptional { try $0.readText() }
        isForTests = try reader.readBool()
    }
}

extension CBORReader {
    /// Reads a name in an agent's message: a terminal, a display, a version, a cause.
    mutating func readName() throws -> String {
        let name = try readText()
        guard !name.isEmpty, name.utf8.count <= AgentRegistration.longestName, !name.utf8.contains(0) else {
            throw WireError.malformed
        }
        return name
    }
}
