import Glibc

/// A point in time on the clock that runs since boot, even while the machine sleeps.
///
/// Setting the wall clock does not change it; a restart shows in a different ``bootID``.
public struct BootTime: Hashable, Sendable {
    /// `/proc/sys/kernel/random/boot_id`, or another identifier of this boot.
    public let bootID: String
    /// `CLOCK_BOOTTIME` in nanoseconds.
    public let nanoseconds: Int64

    /// Describes a point in time of one boot.
    public init(bootID: String, nanoseconds: Int64) {
        self.bootID = bootID
        self.nanoseconds = nanoseconds
    }

    /// The time elapsed since `earlier`; nil if the machine was restarted in between.
    public func since(_ earlier: BootTime) -> Duration? {
        guard bootID == earlier.bootID else { return nil }
        return .nanoseconds(nanoseconds - earlier.nanoseconds)
    }

    /// The point in time `duration` later.
    public func advanced(by duration: Duration) -> BootTime {
        let (seconds, attoseconds) = duration.components
        return BootTime(
            bootID: bootID,
            nanoseconds: nanoseconds + seconds * 1_000_000_000 + attoseconds / 1_000_000_000
        )
    }
}

/// A clock of the time since boot; tests use one that they advance themselves.
public protocol BootClock: Sendable {
    /// The current time.
    func now() -> BootTime
}

/// The machine's own clock: `CLOCK_BOOTTIME` and the kernel's boot id.
public struct SystemBootClock: BootClock {
    private let bootID: String

    /// Reads the boot id once.
    public init() {
        bootID = Self.readBootID()
    }

    /// The current time.
    public func now() -> BootTime {
        var time = timespec()
        unsafe clock_gettime(CLOCK_BOOTTIME, &time)
        return BootTime(
            bootID: bootID,
            nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        )
    }

    private static func readBootID() -> String {
        guard let bytes = try? SmallFile.bytes("/proc/sys/kernel/random/boot_id", atMost: 64), !bytes.isEmpty
        else {
            // Unlike any other: no time counts as passed since one that another process, or another boot, recorded.
            return "unknown \(UInt64.random(in: 0...UInt64.max))"
        }
        return String(decoding: bytes.prefix { $0 > 0x20 }, as: UTF8.self)
    }
}
