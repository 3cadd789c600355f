import KeychainModel
import MessageBus

/// A sensor of one fprintd; the methods have fprintd's own names.
struct FprintDevice {
    /// The connection for the calls; a claim belongs to it.
    let bus: Bus
    /// The unique name of fprintd.
    let owner: String
    /// The path of the sensor's object.
    let path: String

    private var target: Bus.Target { Bus.Target(owner, path, Fprint.deviceInterface) }

    /// Pending calls for a sensor's ``name()``, its ``listEnrolledFingers(user:)`` and its `scan-type`.
    struct Inquiry {
        fileprivate let device: FprintDevice
        fileprivate let name: BusCall
        fileprivate let fingers: BusCall
        fileprivate let scanType: BusCall

        /// The sensor with the replies.
        nonisolated(nonsending) func choice() async throws(FingerprintError) -> FprintManager.Choice {
            FprintManager.Choice(
                device: device,
                name: try await FprintDevice.name(from: name),
                fingers: try await FprintDevice.fingers(from: fingers),
                scanType: await FprintDevice.scanType(from: scanType)
            )
        }
    }

    /// Sends all three calls at once.
    func inquire(user: String) -> Inquiry {
        Inquiry(
            device: self,
            name: beginName(),
            fingers: beginListEnrolledFingers(user: user),
            scanType: bus.begin(
                properties,
                "Get",
                [.string(Fprint.deviceInterface), .string("scan-type")]
            )
        )
    }

    /// `ListEnrolledFingers`, sorted; empty if nothing is enrolled.
    nonisolated(nonsending) func listEnrolledFingers(user: String) async throws(FingerprintError) -> [String]
    {
        try await Self.fingers(from: beginListEnrolledFingers(user: user))
    }

    /// The property `name`.
    nonisolated(nonsending) func name() async throws(FingerprintError) -> String {
        try await Self.name(from: beginName())
    }

    private func beginListEnrolledFingers(user: String) -> BusCall {
        bus.begin(target, "ListEnrolledFingers", [.string(user)])
    }

    fileprivate nonisolated(nonsending) static func fingers(
        from call: BusCall
    ) async throws(FingerprintError) -> [String] {
        do throws(FingerprintError) {
            guard let fingers = try await reply(to: call).first?.texts else {
                throw FingerprintError(.internal, message: "ListEnrolledFingers")
            }
            return fingers.sorted()
        } catch let error where error.code == .noEnrolledPrints {
            return []
        }
    }

    private func beginName() -> BusCall { bus.begin(properties, "Get", Self.nameArguments) }

    /// Queries the property `name` and ignores its value; `answered` is called before any later message of fprintd is
    /// handled.
    func askName(answered: @escaping () -> Void) {
        bus.send(properties, "Get", Self.nameArguments) { _ in answered() }
    }

    private var properties: Bus.Target { Bus.Target(owner, path, propertiesInterface) }

    private static let nameArguments: [BusValue] = [.string(Fprint.deviceInterface), .string("name")]

    fileprivate nonisolated(nonsending) static func name(
        from call: BusCall
    ) async throws(FingerprintError) -> String {
        guard let name = try await reply(to: call).first?.content?.text else {
            throw FingerprintError(BusError.malformed)
        }
        return name
    }

    /// The property `scan-type`, which no decision depends on; nil if fprintd does not report it.
    fileprivate nonisolated(nonsending) static func scanType(from call: BusCall) async -> String? {
        try? await reply(to: call).first?.content?.text
    }

    /// `Claim`.
    nonisolated(nonsending) func claim(user: String) async throws(FingerprintError) {
        _ = try await Self.reply(to: bus.begin(target, "Claim", [.string(user)]))
    }

    /// `Release`.
    nonisolated(nonsending) func release() async throws(FingerprintError) {
        _ = try await Self.reply(to: bus.begin(target, "Release"))
    }

    /// `VerifyStart`; `reply` is called before any later message of fprintd is handled.
    func verifyStart(_ finger: String, reply: @escaping (Bus.Reply) -> Void) {
        bus.send(target, "VerifyStart", [.string(finger)], reply: reply)
    }

    /// `VerifyStop`.
    func beginVerifyStop() -> BusCall { bus.begin(target, "VerifyStop") }

    private nonisolated(nonsending) static func reply(
        to call: BusCall
    ) async throws(FingerprintError) -> [BusValue] {
        do throws(BusError) {
            return try await call.reply()
        } catch {
            throw FingerprintError(error)
        }
    }
}
