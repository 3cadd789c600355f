/// A sensor that checks whether a finger is an enrolled one.
///
/// ```swift
/// let claim = try await reader.claim()
/// let result = try await claim.verify { status in print(status) }
/// await claim.release()
/// ```
public protocol FingerprintReader: Sendable {
    /// The fingers enrolled now, without arming the sensor.
    ///
    /// - Throws: ``FingerprintError`` `noSuchDevice` without a sensor, `serviceUnknown` without fprintd.
    func enrolment() async throws(FingerprintError) -> Enrolment

    /// Claims the sensor exclusively for this process, until the claim is released.
    func claim() async throws(FingerprintError) -> any FingerprintClaim

    /// Completed enrolments, and announcements of sleep.
    ///
    /// A hint, never a proof: each element says that a change is possible.
    func changes() async -> AsyncStream<FingerprintChange>

    /// Lets the machine sleep, after ``FingerprintChange/suspend`` was handled.
    func allowSleep() async
}

extension FingerprintReader {
    /// Does nothing: sleep does not wait for this reader.
    public func allowSleep() async {}
}

/// A claimed sensor.
public protocol FingerprintClaim: Sendable {
    /// Arms the sensor and waits for one verdict.
    ///
    /// On a sensor that compares with one finger at a time, each enrolled finger is tried in turn before the verdict
    /// is ``FingerprintVerdict/noMatch``.
    /// - Parameter status: called for each event before the verdict.
    /// - Returns: the verdict on one touch.
    /// - Throws: ``FingerprintError``; `cancelled` if the task was cancelled. After any error the sensor is disarmed
    ///   and released: another verification needs another claim.
    func verify(
        status: @escaping @Sendable (FingerprintStatus) -> Void
    ) async throws(FingerprintError) -> FingerprintVerdict

    /// Disarms and releases the sensor; a later claim waits for that. Never fails, may be called twice.
    func letGo()

    /// As ``letGo()``, and waits until the sensor is released.
    func release() async
}

/// The verdict of a verification.
public enum FingerprintVerdict: Sendable, Equatable {
    /// `verify-match`: an enrolled finger.
    case match
    /// `verify-no-match`: a good image that matches no enrolled finger.
    case noMatch
}

/// An event before a verdict.
public enum FingerprintStatus: Sendable, Equatable {
    /// The sensor is armed.
    case armed
    /// A finger touched the sensor.
    case fingerPresent
    /// `verify-retry-scan`, `verify-swipe-too-short`, `verify-finger-not-centered`, `verify-remove-and-retry`: the
    /// image was poor; the sensor stays armed.
    case retry(String)
    /// The sensor compares with one finger at a time and now expects the finger of this name.
    case finger(String)
}

/// An event that a holder of keys has to react to.
public enum FingerprintChange: Sendable, Equatable {
    /// An enrolment completed.
    case enrolment
    /// The machine is about to sleep; it waits a few seconds for ``FingerprintReader/allowSleep()``.
    case suspend
    /// fprintd started, stopped or was replaced.
    case service
}

/// An error of fprintd, the bus or the sensor.
public struct FingerprintError: Error, Sendable {
    /// fprintd's error names without their prefix, and a few of the bus.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The name, for example `NoSuchDevice`.
        public let rawValue: String
        /// Accepts any name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// polkit denied the call.
        public static let permissionDenied = Code(rawValue: "PermissionDenied")
        /// The device was not claimed.
        public static let claimDevice = Code(rawValue: "ClaimDevice")
        /// Another process has claimed the sensor.
        public static let alreadyInUse = Code(rawValue: "AlreadyInUse")
        /// No finger is enrolled.
        public static let noEnrolledPrints = Code(rawValue: "NoEnrolledPrints")
        /// There is no sensor.
        public static let noSuchDevice = Code(rawValue: "NoSuchDevice")
        /// fprintd reported an internal error.
        public static let `internal` = Code(rawValue: "Internal")
        /// `verify-disconnected`: the sensor was unplugged.
        public static let disconnected = Code(rawValue: "verify-disconnected")
        /// `verify-unknown-error`.
        public static let unknownError = Code(rawValue: "verify-unknown-error")
        /// fprintd is not running and cannot be started.
        public static let serviceUnknown = Code(rawValue: "ServiceUnknown")
        /// fprintd's owner changed or disconnected during the operation.
        public static let ownerLost = Code(rawValue: "OwnerLost")
        /// fprintd is not run by root, so it is not trusted.
        public static let untrustedOwner = Code(rawValue: "UntrustedOwner")
        /// There is no system bus.
        public static let noBus = Code(rawValue: "NoBus")
        /// A call was not answered within the timeout.
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

    /// The cause for the log and the wire.
    public var cause: DriverCause { DriverCause(domain: "fprintd", code: code.rawValue) }
}

extension FingerprintError: Equatable {
    /// Compares codes alone.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.code == rhs.code }
}
