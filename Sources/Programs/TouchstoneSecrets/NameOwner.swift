import Glibc
import KeychainModel
import MessageBus

/// Asks a bus which process has the name of the Secret Service.
actor NameOwner {
    private let executor = BusExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    /// Writes a line with the process's number and its name on standard output; nothing if no process has the name.
    ///
    /// - Throws: ``SecretsFailure`` if there is no bus.
    func tell(on address: String) async throws(SecretsFailure) {
        do throws(BusError) {
            let bus = try Bus(
                address: address,
                executor: executor,
                callTimeout: .seconds(5),
                onMessage: { _, _ in false },
                onClosed: {}
            )
            defer { bus.close() }
            let reply = try await bus.call(.bus, Self.method, [.string(SecretNames.bus)])
            if let program = Self.program(in: reply) { print(program) }
        } catch .remote(name: "org.freedesktop.DBus.Error.NameHasNoOwner", _) {
            return
        } catch {
            throw .noBus(address, error)
        }
    }

    /// The method of the bus that tells a name's process.
    static let method = "GetConnectionUnixProcessID"

    /// The number and the name of the process in a reply, as the kernel has it (at most 15 bytes).
    static func program(in reply: [BusValue]) -> String? {
        guard case .uint32(let pid)? = reply.first, let process = Int32(exactly: pid) else { return nil }
        let name = (try? SmallFile.text("/proc/\(process)/comm", atMost: 64)) ?? "?"
        return "\(process) \(name.filter { $0 != "\n" })"
    }
}
