import KeychainModel

/// A sensor of one fprintd; its methods by their own names.
struct FprintDevice {
    /// The connection that the calls go over; a claim belongs to it.
    let bus: Bus
    /// The unique name of fprintd.
    let owner: String
    /// The sensor's object.
    let path: String

    private var target: Bus.Target { Bus.Target(owner, path, Fprint.deviceInterface) }

    /// `ListEnrolledFingers`, sorted; nothing enrolled is an empty list.
    nonisolated(nonsending) func listEnrolledFingers(user: String) async throws(FingerprintError) -> [String]
    {
        do throws(FingerprintError) {
            guard let fingers = try await call("ListEnrolledFingers", [.string(user)]).first?.texts else {
                throw FingerprintError(.internal, message: "ListEnrolledFingers")
            }
            return fingers.sorted()
        } catch let error where error.code == .noEnrolledPrints {
            return []
        }
    }

    /// The property `name`.
    nonisolated(nonsending) func name() async throws(FingerprintError) -> String {
        do throws(BusError) {
            let reply = try await bus.call(
                Bus.Target(owner, path, propertiesInterface),
                "Get",
                [.string(Fprint.deviceInterface), .string("name")]
            )
            guard let name = reply.first?.content?.text else { throw .malformed }
            return name
        } catch {
            throw FingerprintError(error)
        }
    }

    /// `Claim`.
    nonisolated(nonsending) func claim(user: String) async throws(FingerprintError) {
        _ = try await call("Claim", [.string(user)])
    }

    /// `Release`.
    nonisolated(nonsending) func release() async throws(FingerprintError) {
        _ = try await call("Release", [])
    }

    /// `VerifyStart`; `reply` is called before anything that fprintd sent after its answer.
    func verifyStart(_ finger: String, reply: @escaping (Bus.Reply) -> Void) {
        bus.send(target, "VerifyStart", [.string(finger)], reply: reply)
    }

    /// `VerifyStop`.
    nonisolated(nonsending) func verifyStop() async throws(FingerprintError) {
        _ = try await call("VerifyStop", [])
    }

    private nonisolated(nonsending) func call(
        _ method: String,
        _ arguments: [BusValue]
    ) async throws(FingerprintError) -> [BusValue] {
        do throws(BusError) {
            return try await bus.call(target, method, arguments)
        } catch {
            throw FingerprintError(error)
        }
    }
}
