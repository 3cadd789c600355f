import Glibc
import KeychainModel
import MessageBus

/// Asks the program that has the name of the Secret Service, or the bus about it, for the command.
actor NameOwner {
    private let executor = BusExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        unsafe executor.asUnownedSerialExecutor()
    }

    private static let noOwner = "org.freedesktop.DBus.Error.NameHasNoOwner"

    /// Writes a line with the process's number and its name on standard output; nothing if no process has the name.
    ///
    /// - Throws: ``SecretsFailure`` if there is no bus.
    func tell(on address: String) async throws(SecretsFailure) {
        let reply = try await ask(address, .bus, Self.method, [.string(SecretNames.bus)])
        if let program = reply.flatMap(Self.program) { print(program) }
    }

    /// Writes a line for each gesture that counts: its number, the client's process and program, the seconds and reads that are left
    /// (0 for any number), and the secret's label, separated by tabs.
    ///
    /// - Throws: ``SecretsFailure`` if there is no bus, or another program has the name.
    func tellLeases(on address: String) async throws(SecretsFailure) {
        guard let reply = try await askDoor(address, "List", []) else { return }
        guard case .array(_, let leases)? = reply.first else { throw .notOurs }
        for lease in leases {
            guard case .structure(let members) = lease, members.count == 6,
                case .uint64(let number) = members[0],
                case .uint32(let process) = members[1], let program = members[2].text,
                let label = members[3].text, case .uint32(let seconds) = members[4],
                case .uint32(let reads) = members[5]
            else { throw .notOurs }
            print(
                [
                    String(number), String(process), Self.onOneLine(program), String(seconds), String(reads),
                    Self.onOneLine(label),
                ].joined(separator: "\t")
            )
        }
    }

    /// Ends the gesture of a number, or all for 0, and writes how many there were.
    ///
    /// - Throws: as ``tellLeases(on:)``.
    func endLeases(_ number: UInt64, on address: String) async throws(SecretsFailure) {
        let reply = try await askDoor(address, "End", [.uint64(number)])
        guard let reply else { return print(0) }
        guard case .uint32(let ended)? = reply.first else { throw .notOurs }
        print(ended)
    }

    /// Has the door read the rules anew, before the daemon tells it of their change.
    ///
    /// - Throws: as ``tellLeases(on:)``.
    func refresh(on address: String) async throws(SecretsFailure) {
        _ = try await askDoor(address, "Refresh", [])
    }

    /// The reply of the door; nil if nobody has the name.
    private func askDoor(
        _ address: String,
        _ member: String,
        _ arguments: [BusValue]
    ) async throws(SecretsFailure) -> [BusValue]? {
        // Without a door there is no gesture, and asking it must not start one.
        guard try await ask(address, .bus, Self.method, [.string(SecretNames.bus)]) != nil else { return nil }
        let target = Bus.Target(SecretNames.bus, SecretNames.root, SecretNames.leases)
        return try await ask(address, target, member, arguments)
    }

    private func ask(
        _ address: String,
        _ target: Bus.Target,
        _ member: String,
        _ arguments: [BusValue]
    ) async throws(SecretsFailure) -> [BusValue]? {
        do throws(BusError) {
            let bus = try Bus(
                address: address,
                executor: executor,
                callTimeout: .seconds(5),
                onMessage: { _, _ in false },
                onClosed: {}
            )
            defer { bus.close() }
            return try await bus.call(target, member, arguments)
        } catch .remote(name: Self.noOwner, _) {
            return nil
        } catch .remote {
            throw .notOurs
        } catch {
            throw .noBus(address, error)
        }
    }

    private static func onOneLine(_ text: String) -> String {
        String(text.map { $0.isNewline || $0 == "\t" ? " " : $0 })
    }

    /// The method of the bus that tells a name's process.
    static let method = "GetConnectionUnixProcessID"

    /// The number and the name of the process in a reply.
    static func program(in reply: [BusValue]) -> String? {
        guard case .uint32(let pid)? = reply.first, let process = Int32(exactly: pid) else { return nil }
        return "\(process) \(name(of: process))"
    }

    /// The name of a process, as the kernel has it (at most 15 bytes).
    static func name(of process: Int32) -> String {
        let name = (try? SmallFile.text("/proc/\(process)/comm", atMost: 64)) ?? "?"
        return name.filter { $0 != "\n" }
    }
}
