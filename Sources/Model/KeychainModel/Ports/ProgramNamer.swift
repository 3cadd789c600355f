import Glibc

/// Tells which program a client runs: a daemon of the same user looks by itself, one under another account asks the broker.
public protocol ProgramNamer: Sendable {
    /// Whether a look may wait for another process, at most for a second: then none is made where others would wait.
    var waits: Bool { get }

    /// Looks which program a process runs.
    ///
    /// What was found counts only if the very process still ran after it was found.
    func look(at process: ClientProcess) -> ProgramLook
}

/// A process that connected, with a pidfd of it, which is closed with its last owner.
public final class ClientProcess: Sendable {
    /// Its number, as the kernel told at connect(2).
    public let pid: Int32
    /// The pidfd: as long as it is open, it means this process and no other.
    public let handle: CInt

    /// Takes over a pidfd.
    public init(pid: Int32, handle: CInt) {
        self.pid = pid
        self.handle = handle
    }

    deinit { close(handle) }
}

/// What was told of a process.
public struct ProgramLook: Sendable {
    /// When the process started, in clock ticks since boot; 0 when it cannot be told.
    public let processStart: UInt64
    /// The program that it runs; nil when that cannot be told for sure.
    public let program: RunningProgram?
    /// Why nobody could look; nil where somebody did, whatever came of it.
    ///
    /// A program that was looked at and has no name is an unknown one, and has the items of unknown programs. One that
    /// nobody could look at may be any, and is not taken for an unknown one.
    public let fault: DriverCause?

    /// Nothing could be told.
    public static let nothing = ProgramLook(processStart: 0, program: nil)

    /// Tells what was found.
    public init(processStart: UInt64, program: RunningProgram?) {
        self.processStart = processStart
        self.program = program
        fault = nil
    }

    /// Tells that nobody could look, and why.
    public init(fault: DriverCause) {
        processStart = 0
        program = nil
        self.fault = fault
    }
}

/// A program that a process was found to run.
public struct RunningProgram: Sendable {
    /// Its path.
    public let path: String
    /// Whether the process still runs it; asked at each request and before each box, so it waits for nobody.
    public let isStill: @Sendable () -> Bool

    /// Tells of a program.
    public init(path: String, isStill: @escaping @Sendable () -> Bool) {
        self.path = path
        self.isStill = isStill
    }
}
