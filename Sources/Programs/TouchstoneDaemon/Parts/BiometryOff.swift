import KeychainModel

/// The reader of a daemon configured with `biometry = off`: reports that there is no sensor.
struct BiometryOff: FingerprintReader {
    private static let error = FingerprintError(
        .noSuchDevice,
        message: "biometry is off in the configuration"
    )

    func enrolment() async throws(FingerprintError) -> Enrolment { throw Self.error }

    func claim() async throws(FingerprintError) -> any FingerprintClaim { throw Self.error }

    func changes() async -> AsyncStream<FingerprintChange> { AsyncStream { $0.finish() } }
}
