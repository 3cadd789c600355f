import Glibc

/// A moment on the clock that runs since the machine started, also while it sleeps.
///
/// Setting the wall clock does not move it; a restart is seen by another ``bootID``.
public struct BootTime: Hashable, Sendable {
    /// `/proc/sys/kernel/random/boot_id`, or another name of this run of the machine.
    public let bootID: String
    /// `CLOCK_BOOTTIME` in nanoseconds.
    public let nanoseconds: Int64

    /// Names a moment of one run of the machine.
    public init(bootID: String, nanoseconds: Int64) {
        self.bootID = bootID
        self.nanoseconds = nanoseconds
    }

    /// The time from `earlier` to this moment; nil when the machine was restarted in between.
    public func since(_ earlier: BootTime) -> Duration? {
        guard bootID == earlier.bootID else { return nil }
        return .nanoseconds(nanoseconds - earlier.nanoseconds)
    }

    /// The moment `duration` later.
    public func advanced(by duration: Duration) -> BootTime {
        let (seconds, attoseconds) = duration.components
        return BootTime(
            bootID: bootID,
            nanoseconds: nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        )
    }
}

/// Tells the time since boot; tests pass one that they move by hand.
public protocol BootClock: Sendable {
    /// The present moment.
    func now() -> BootTime
}

/// The machine's own clock: `CLOCK_BOOTTIME` and the kernel's boot id.
public struct SystemBootClock: BootClock {
    private let bootID: String

    /// Reads the boot id once.
    public init() {
        bootID = Self.readBootID()
    }

    /// The present moment.
    public func now() -> BootTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return BootTime(
            bootID: bootID,
            nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        )
    }

    private static func readBootID() -> String {
        let descriptor = unsafe open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return "unknown" }
        defer { close(descriptor) }
        var octets = [UInt8](repeating: 0, count: 64)
        let count = unsafe read(descriptor, &octets, octets.count)
        guard count > 0 else { return "unknown" }
        return String(decoding: octets[..<count].prefix { $0 > 0x20 }, as: UTF8.self)
    }
}
