import AuthenticationEngine
import Desk
import FingerprintDriver
import Foundation
import Glibc
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

/// A desk with the real engines and a scripted user, in a private directory.
final class DeskWorld: Sendable {
    static let passcode = "orbit hazel trumpet velvet quarry"

    let prompter = ScriptedPrompter()
    let reader = ScriptedReader()
    let engine: KeychainEngine
    let desk: Desk
    let reads: ReadLog
    /// The time by which records of reads are kept, in microseconds since 1970.
    let wallClock = Guarded<Int64>(1_700_000_000_000_000)
    let path: String
    private let ownsPath: Bool

    /// A new keychain, or that of another world that has released it, opened as by a new run of the daemon.
    ///
    /// `clock` is that of the waits, `bus` the one that NetworkManager is on, if there is one.
    init(
        at path: String? = nil,
        clock: any BootClock = SystemBootClock(),
        bus: BusAddress = nowhere,
        keepsReads: Duration = .seconds(30 * 86_400),
        hidesNamesWhileLocked: Bool = false,
        audit: any AuditLog = Silence()
    ) throws {
        self.path = path ?? FileManager.default.temporaryDirectory.path + "/touchstone-" + UUID().uuidString
        ownsPath = path == nil
        let directory = try StoreDirectory(path: self.path)
        engine = try KeychainEngine(
            directory: directory,
            sealer: DeviceSealer(file: FileKeySealer(directory: directory), hardware: nil),
            derivation: .test,
            hidesNamesWhileLocked: hidesNamesWhileLocked,
            isForTests: true
        )
        let theftGuard = TheftGuard(
            vault: engine.items,
            owners: engine.items,
            places: NetworkManagerPlaces(busAddress: bus, callTimeout: Deadline.patience),
            clock: clock,
            audit: Silence()
        )
        let authenticator = AuthenticationEngine(
            reader: reader,
            prompter: prompter,
            keybag: engine.keybag,
            attempts: engine.attempts,
            clock: clock,
            audit: Silence(),
            credentialGuard: theftGuard
        )
        reads = ReadLog(
            vault: engine.items,
            owners: engine.items,
            audit: audit,
            keeps: keepsReads,
            hidesNamesWhileLocked: hidesNamesWhileLocked,
            now: { [wallClock] in wallClock.withLock(\.self) }
        )
        desk = Desk(
            services: KeychainServices(
                authenticator: authenticator,
                keybag: engine.keybag,
                vault: engine.items,
                keys: engine.keys,
                owners: engine.items,
                theftGuard: theftGuard,
                reads: reads,
                audit: Silence(),
                daemonVersion: "test",
                promptFault: { _ in nil }
            ),
            limits: DeskLimits(longestRequest: Frame.longest)
        )
    }

    deinit {
        if ownsPath { try? FileManager.default.removeItem(atPath: path) }
    }

    struct Silence: AuditLog {
        func record(_ event: AuditEvent) {}
        func isHeard(_ kind: AuditEvent.Kind) -> Bool { false }
    }

    /// The address of no bus.
    static let nowhere = BusAddress.testing("unix:path=/nonexistent/bus")

    // MARK: Callers

    /// The path of the command.
    static let command = "/usr/bin/touchstone"

    /// A program of this user that is never checked again.
    static func asker(_ program: String = "/usr/bin/app") -> Asker {
        ClientIdentity(ownProgram: command)
            .asker(uid: geteuid(), pid: getpid(), processStart: 1, program: program, isStill: { true })
    }

    /// Creates the keybag.
    func setUp() async throws {
        prompter.will(.type(Self.passcode), .confirm, .typeShown)
        let visit = desk.visit(by: Self.asker())
        try await visit.setUp(PromptFields(origin: PromptOrigin(terminal: "/dev/pts/0")))
        visit.end()
    }

    /// Adds a password.
    func add(
        _ data: String,
        service: String,
        flags: AccessControlFlags = [],
        by asker: Asker = DeskWorld.asker()
    ) async throws {
        let item = AddItem(
            itemClass: .genericPassword,
            attributes: [.service: .string(service), .account: .string("me")],
            accessControl: try AccessControl(accessibility: .whenUnlockedThisDeviceOnly, flags: flags),
            data: SecretBytes(copying: Array(data.utf8)),
            prompt: PromptFields()
        )
        let visit = desk.visit(by: asker)
        _ = try await visit.add(item, request: 1)
        visit.end()
    }

    /// A separate door for a caller.
    func lines(of asker: Asker = DeskWorld.asker()) throws -> LineClient {
        let client = try LineClient()
        let visit = desk.visit(by: asker)
        let door = LineDoor(visit: visit, input: client.doorInput, output: client.doorOutput)
        Task { await door.serve() }
        return client
    }
}

/// The other end of a line door's pipes.
final class LineClient: Sendable {
    let doorInput: CInt
    let doorOutput: CInt
    private let input: CInt
    private let output: CInt

    init() throws {
        // A door that answers after the client went must not end the test run, as it does not end a daemon.
        signal(SIGPIPE, SIG_IGN)
        (doorInput, output) = try Self.pipe()
        (input, doorOutput) = try Self.pipe()
    }

    deinit { close(input) }

    private static func pipe() throws -> (CInt, CInt) {
        var ends: [CInt] = [-1, -1]
        guard Glibc.pipe(&ends) == 0 else { throw SystemFailure(number: errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    struct SystemFailure: Error {
        let number: CInt
    }

    /// Writes a line.
    func send(_ line: String) {
        let octets = Array("\(line)\n".utf8)
        #expect(write(output, octets, octets.count) == octets.count)
    }

    /// The next answer; empty once the door is closed.
    func answer() async throws -> String {
        var line: [UInt8] = []
        while true {
            let octet: UInt8? = try await Deadline.wait(for: "an answer") { [input] in
                var descriptor = pollfd(fd: input, events: Int16(POLLIN), revents: 0)
                guard poll(&descriptor, 1, 0) > 0 else { return UInt8??.none }
                var octet: UInt8 = 0
                return .some(read(input, &octet, 1) == 1 ? octet : nil)
            }
            guard let octet, octet != UInt8(ascii: "\n") else { return String(decoding: line, as: UTF8.self) }
            line.append(octet)
        }
    }

    /// Sends a line and waits for the answer.
    func ask(_ line: String) async throws -> String {
        send(line)
        return try await answer()
    }

    /// Disconnects without waiting.
    func hangUp() { close(output) }
}
