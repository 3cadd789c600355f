/// A sensor that tells whether a finger is one of the enrolled ones.
///
/// ```swift
/// let claim = try await reader.claim()
/// let result = try await claim.verify { status in print(status) }
/// await claim.release()
/// ```
public protocol FingerprintReader: Sendable {
    /// What is enrolled now, without arming the sensor.
    ///
    /// - Throws: ``FingerprintError`` `noSuchDevice` without a sensor, `serviceUnknown` without fprintd.
    func enrolment() async throws(FingerprintError) -> Enrolment

    /// Takes the sensor for this process alone, until the claim is released.
    func claim() async throws(FingerprintError) -> any FingerprintClaim

    /// Enrolments that were seen to complete, and moments at which the machine is about to sleep.
    ///
    /// A hint, never a proof: each element says that something may have changed.
    func changes() async -> AsyncStream<FingerprintChange>

    /// Lets the machine sleep: what ``FingerprintChange/suspend`` calls for was done.
    func allowSleep() async
}

extension FingerprintReader {
    /// Nothing, where nobody waits for it.
    public func allowSleep() async {}
}

/// A sensor that was claimed.
public protocol FingerprintClaim: Sendable {
    /// Arms the sensor and waits for one verdict.
    ///
    /// A sensor that can only compare with one finger is asked for each enrolled finger in turn before the
    /// verdict is ``FingerprintVerdict/noMatch``.
    /// - Parameter status: called for what happens before the verdict.
    /// - Returns: the verdict on one touch.
    /// - Throws: ``FingerprintError``; `cancelled` when the task was cancelled. With any error the sensor is disarmed
    ///   and has been let go: another verification takes another claim.
    func verify(
        status: @escaping @Sendable (FingerprintStatus) -> Void
    ) async throws(FingerprintError) -> FingerprintVerdict

    /// Disarms and lets go of the sensor, which whoever claims it next waits for; never fails, may be called twice.
    func letGo()

    /// As ``letGo()``, and waits until the sensor is free.
    func release() async
}

/// The end of a verification.
public enum FingerprintVerdict: Sendable, Equatable {
    /// `verify-match`: an enrolled finger.
    case match
    /// `verify-no-match`: a good picture of no enrolled finger.
    case noMatch
}

/// What happens before a verdict.
public enum FingerprintStatus: Sendable, Equatable {
    /// The sensor is armed.
    case armed
    /// A finger touched the sensor.
    case fingerPresent
    /// `verify-retry-scan`, `verify-swipe-too-short`, `verify-finger-not-centered`,
    /// `verify-remove-and-retry`: the picture was poor; the sensor stays armed.
    case retry(String)
    /// The sensor compares with one finger at a time and now wants the finger of this name.
    case finger(String)
}

/// Something happened that those who hold keys should look at.
public enum FingerprintChange: Sendable, Equatable {
    /// An enrolment completed.
    case enrolment
    /// The machine is about to sleep; it waits a few seconds for ``FingerprintReader/allowSleep()``.
    case suspend
    /// fprintd came, went or was replaced.
    case service
}

/// What fprintd, the bus or the sensor reported.
public struct FingerprintError: Error, Sendable {
    /// fprintd's error names without their prefix, and a few of the bus.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name, for example `NoSuchDevice`.
        public let rawValue: String
        /// Accepts any name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// polkit does not allow it.
        public static let permissionDenied = Code(rawValue: "PermissionDenied")
        /// The device was not claimed.
        public static let claimDevice = Code(rawValue: "ClaimDevice")
        /// Somebody else holds the sensor.
        public static let alreadyInUse = Code(rawValue: "AlreadyInUse")
        /// No finger is enrolled.
        public static let noEnrolledPrints = Code(rawValue: "NoEnrolledPrints")
        /// There is no sensor.
        public static let noSuchDevice = Code(rawValue: "NoSuchDevice")
        /// fprintd failed inside.
        public static let `internal` = Code(rawValue: "Internal")
        /// `verify-disconnected`: the sensor was unplugged.
        public static let disconnected = Code(rawValue: "verify-disconnected")
        /// `verify-unknown-error`.
        public static let unknownError = Code(rawValue: "verify-unknown-error")
        /// fprintd does not run and cannot be started.
        public static let serviceUnknown = Code(rawValue: "ServiceUnknown")
        /// fprintd's owner changed or vanished in the middle.
        public static let ownerLost = Code(rawValue: "OwnerLost")
        /// fprintd is not run by root: its word counts for nothing.
        public static let untrustedOwner = Code(rawValue: "UntrustedOwner")
        /// There is no system bus.
        public static let noBus = Code(rawValue: "NoBus")
        /// A call was not answered in time.
        public static let noReply = Code(rawValue: "NoReply")
        /// The machine is about to sleep.
        public static let suspended = Code(rawValue: "Suspended")
        /// The task was cancelled.
        public static let cancelled = Code(rawValue: "Cancelled")
    }

    /// What happened.
    public let code: Code
    /// fprintd's text, for the log.
    public let message: String

    /// Creates an error.
    public init(_ code: Code, message: String = "") {
        self.code = code
        self.message = message
    }

    /// The cause as it goes into the log and over the wire.
    public var cause: DriverCause { DriverCause(domain: "fprintd", code: code.rawValue) }
}

extension FingerprintError: Equatable {
    /// Compares codes alone.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.code == rhs.code }
}
