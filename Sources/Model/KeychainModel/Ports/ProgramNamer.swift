import Glibc

/// Determines which program a client runs: directly in `/proc` for a daemon of the same user, otherwise through the
/// broker.
public protocol ProgramNamer: Sendable {
    /// Whether ``look(at:)`` may wait for another process, at most a second: it is then not called where others would
    /// wait.
    var waits: Bool { get }

    /// Determines which program a process runs.
    ///
    /// The result counts only if the same process was still running afterwards.
    func look(at process: ClientProcess) -> ProgramLook
}

/// A connected process with its pidfd, which is closed with the last reference.
public final class ClientProcess: Sendable {
    /// Its pid, as the kernel reported it at connect(2).
    public let pid: Int32
    /// The pidfd: while it is open, it refers to this process only.
    public let handle: CInt

    /// Takes over a pidfd.
    public init(pid: Int32, handle: CInt) {
        self.pid = pid
        self.handle = handle
    }

    deinit { close(handle) }
}

/// The facts found about a process.
public struct ProgramLook: Sendable {
    /// When the process started, in clock ticks since boot; 0 if unknown.
    public let processStart: UInt64
    /// The program that it runs; nil if it cannot be determined reliably.
    public let program: RunningProgram?
    /// Its controlling terminal's device number, if the namer was told; 0 for none.
    public let terminal: UInt64?
    /// Determines which programs started it, for ``Caller/startedBy``; asked at most once, when it is first needed.
    public let startedBy: @Sendable () -> String
    /// Why the check was impossible; nil if it was made, whatever its result.
    ///
    /// A program that was checked and has no name is an unknown program, with the items of unknown programs. One that
    /// could not be checked may be any program, and is not treated as an unknown one.
    public let fault: DriverCause?

    /// No facts.
    public static let nothing = ProgramLook(processStart: 0, program: nil)

    /// Reports the facts found.
    public init(
        processStart: UInt64,
        program: RunningProgram?,
        terminal: UInt64? = nil,
        startedBy: @escaping @Sendable () -> String = { "" }
    ) {
        self.processStart = processStart
        self.program = program
        self.terminal = terminal
        self.startedBy = startedBy
        fault = nil
    }

    /// Reports that the check was impossible, and why.
    public init(fault: DriverCause) {
        processStart = 0
        program = nil
        terminal = nil
        startedBy = { "" }
        self.fault = fault
    }
}

/// A program's file: after an update it is another one at the same path.
public struct ProgramFile: Sendable, Hashable {
    /// Its path.
    public let path: String
    /// Its inode number.
    ///
    /// The device is left out: those of btrfs and overlays have another number after each start of the machine.
    public let inode: UInt64

    /// Describes a file.
    public init(path: String, inode: UInt64) {
        self.path = path
        self.inode = inode
    }

    /// Compares bytewise: two encodings of one letter are two paths.
    public static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.inode == rhs.inode && lhs.path.utf8.elementsEqual(rhs.path.utf8)
    }
}

/// A program that a process runs.
public struct RunningProgram: Sendable {
    /// Its file.
    public let file: ProgramFile
    /// Whether the process still runs it; checked at each request and before each prompt, so it never waits.
    public let isStill: @Sendable () -> Bool

    /// Describes a program.
    public init(_ file: ProgramFile, isStill: @escaping @Sendable () -> Bool) {
        self.file = file
        self.isStill = isStill
    }
}
