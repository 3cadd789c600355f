import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// A test's own control group, like those the service manager creates for units.
private final class UnitGroup {
    /// The service manager's control group hierarchy, or that of a machine without one.
    static let hierarchy = [
        "/sys/fs/cgroup/systemd", "/sys/fs/cgroup/unified", "/sys/fs/cgroup",
    ].first { place in
        let trial = place + "/touchstone-trial-\(getpid())"
        defer { rmdir(trial) }
        return access(place + "/cgroup.procs", W_OK) == 0 && mkdir(trial, 0o755) == 0
            && access(trial + "/cgroup.procs", W_OK) == 0
    }

    private let parent: String
    private let path: String

    init(_ unit: String) throws {
        parent = "\(Self.hierarchy ?? "")/touchstone-test-\(UUID().uuidString)"
        path = parent + "/" + unit
        guard mkdir(parent, 0o755) == 0, mkdir(path, 0o755) == 0 else { throw POSIXError(.EIO) }
    }

    deinit {
        // Remaining processes return to the top group.
        for process in processes { try? Self.move(process, to: Self.hierarchy ?? "") }
        rmdir(path)
        rmdir(parent)
    }

    private var processes: [Int32] {
        let text = (try? String(contentsOfFile: path + "/cgroup.procs", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").compactMap { Int32($0) }
    }

    func take(_ process: Int32) throws { try Self.move(process, to: path) }

    private static func move(_ process: Int32, to group: String) throws {
        let file = open(group + "/cgroup.procs", O_WRONLY | O_CLOEXEC)
        guard file >= 0 else { throw POSIXError(.EACCES) }
        defer { close(file) }
        let text = Array("\(process)\n".utf8)
        guard write(file, text, text.count) == text.count else { throw POSIXError(.EIO) }
    }
}

@Suite(
    "A daemon in its user's unit",
    .serialized,
    .enabled(
        if: SystemModeMachine.isPossible && SystemModeMachine.hasBroker && UnitGroup.hierarchy != nil,
        "needs root, a machine that lets it mount, and control groups that it may write to"
    )
)
struct DaemonUnitTests {
    /// The process of the daemon itself, not of the programs that started it.
    private func process(of daemon: SystemDaemon) throws -> Int32 {
        var candidates = [daemon.process.processID]
        while let process = candidates.popLast() {
            let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(process)/exe")
            if program?.contains("/touchstoned") == true { return process }
            let children = "/proc/\(process)/task/\(process)/children"
            let text = (try? String(contentsOfFile: children, encoding: .utf8)) ?? ""
            candidates += text.split(separator: " ").compactMap { Int32($0) }
        }
        throw TestKitError.unexpected("no daemon runs")
    }

    /// Starts a broker that checks units, with or without its own unit's sandbox.
    private func startBroker(of machine: SystemModeMachine, isInSandbox: Bool) async throws -> AnyObject {
        guard isInSandbox else { return try await machine.startBroker(options: []) }
        let unit = try ShippedFiles.text("touchstone-broker.service")
        let broker = try await UnitSandboxTests.broker(unit, machine, options: [])
        let socket = machine.outside(SystemBroker.socket)
        try await Deadline.wait(for: "the broker") { access(socket, F_OK) == 0 ? true : nil }
        return broker.process
    }

    @Test(
        "the broker answers a daemon about its unit's user only, and outside such a unit not at all",
        arguments: UnitSandbox.isPossible ? [false, true] : [false]
    )
    func units(isInSandbox: Bool) async throws {
        let person = try ScriptedOwner()
        let machine = try await SystemModeMachine.start(
            configuration: ScriptedOwner.settings + ["biometry = off", person.setting]
        )
        let broker = try await startBroker(of: machine, isInSandbox: isInSandbox)
        let daemon = try await machine.startDaemon(for: .alice)
        let process = try process(of: daemon)
        func run(_ arguments: [String], input: String = "") async throws -> Finished {
            try await machine.command(arguments, by: person, input: input)
        }
        #expect(try await run(["setup"]).status == 0)
        let refused = try await run(["list"])
        #expect(refused.status == 7, "\(refused.output)")
        #expect(refused.output.contains("not in a unit touchstoned@UID.service"), "\(refused.output)")
        let (alice, bob) = (SystemModeMachine.Account.alice.uid, SystemModeMachine.Account.bob.uid)
        let own = try UnitGroup("touchstoned@\(alice).service")
        let other = try UnitGroup("touchstoned@\(bob).service")
        try own.take(process)
        let added = try await run(["set", "mail", "--require", "none"], input: "secret")
        #expect(added.status == 0, "\(added.output)")
        #expect(try await run(["get", "mail"]).output == "secret")
        // As if bob's daemon had been compromised: it learns nothing about alice's programs.
        try other.take(process)
        let hidden = try await run(["get", "mail"])
        #expect(hidden.status == 3, "\(hidden.output)")
        let status = try await run(["status", "--json"])
        #expect(status.output.contains("\"brokerFault\": null"), "\(status.output)")
        try own.take(process)
        #expect(try await run(["get", "mail"]).output == "secret")
        withExtendedLifetime((own, other, daemon, broker)) {}
    }
}
