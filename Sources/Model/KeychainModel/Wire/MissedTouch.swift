public import CBOR

/// A touch that the sensor did not accept while the prompt stays: `[count, reason]`.
///
/// A notice of the daemon about a request whose ``PromptFields/tellsMisses`` is set, before the request's first reply.
public struct MissedTouch: WireBody, Sendable, Hashable {
    /// Why the touch did not count; the number on the wire.
    public enum Reason: UInt64, Sendable, CaseIterable {
        /// The finger is none of the enrolled ones.
        case noMatch = 1
        /// The swipe was too short.
        case tooShort = 2
        /// The finger was not on the middle of the sensor.
        case offCentre = 3
        /// The finger has to be lifted and put down again.
        case lift = 4
        /// The finger could not be read, for a reason that the sensor does not tell.
        case unreadable = 5

        /// The reason for a result of fprintd other than a verdict.
        public init(fprintd word: String) {
            self =
                switch word {
                case "verify-swipe-too-short": .tooShort
                case "verify-finger-not-centered": .offCentre
                case "verify-remove-and-retry": .lift
                default: .unreadable
                }
        }
    }

    /// The number of this miss in its prompt, from 1.
    public let count: Int
    /// Why the touch did not count.
    public let reason: Reason

    /// Describes a miss.
    public init(count: Int, reason: Reason) {
        self.count = count
        self.reason = reason
    }

    /// Where the misses of the prompts of the current task's request go; nil for nowhere.
    ///
    /// Called on the thread that runs the prompt, which must not wait.
    @TaskLocal public static var listener: MissListener?

    /// Writes the miss.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(unsigned: UInt64(max(0, count)))
        writer.write(unsigned: reason.rawValue)
    }

    /// Reads a miss; a reason of a later version is ``Reason/unreadable``.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        count = Int(clamping: try reader.readUnsigned())
        guard count > 0 else { throw WireError.malformed }
        reason = Reason(rawValue: try reader.readUnsigned()) ?? .unreadable
    }
}

/// Receives misses.
///
/// A class, because optimised code of Swift 6.3 crashes in `TaskLocal.withValue` for a value of a function type.
public final class MissListener: Sendable {
    /// Called for each miss.
    public let tell: @Sendable (MissedTouch) -> Void

    /// Makes a listener.
    public init(_ tell: @escaping @Sendable (MissedTouch) -> Void) { self.tell = tell }
}
