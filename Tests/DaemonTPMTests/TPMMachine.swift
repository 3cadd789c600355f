import Foundation
import KeychainClient
import KeychainModel
import SecretMemory
import TouchstoneTesting

/// A machine with a TPM: the TPM, a recorder on its bus, and the keychain of a daemon that uses it.
struct TPMMachine {
    /// Whether the programs are built and a software TPM can be started.
    static var isThere: Bool {
        ["/usr/bin/swtpm", Programs.touchstoned, Programs.touchstone]
            .allSatisfy(FileManager.default.isExecutableFile)
    }

    let chip: SoftwareTPM
    let recorder: TPMRecorder
    let keychain: PrivateKeychain

    /// A machine whose keychain is not set up.
    init(_ chip: SoftwareTPM.Chip = .blank, bus: PrivateBus? = nil, settings: [String] = []) async throws {
        self.chip = try await SoftwareTPM.start(chip)
        recorder = try TPMRecorder(self.chip)
        keychain = try PrivateKeychain(bus: bus, tpm: recorder.tcti, settings: settings)
    }

    /// A machine whose keychain is set up and unlocked.
    static func ready(
        _ chip: SoftwareTPM.Chip = .blank,
        bus: PrivateBus? = nil,
        settings: [String] = []
    ) async throws -> TPMMachine {
        let machine = try await TPMMachine(chip, bus: bus, settings: settings)
        try await machine.keychain.start()
        try machine.keychain.client.setUp(machine.keychain.prompt())
        return machine
    }

    /// Restarts daemon and TPM, like the machine.
    func restart() async throws {
        keychain.stop(with: SIGTERM)
        try await chip.reset()
        try await keychain.start()
    }
}

extension PrivateKeychain {
    private static let service = AttributeValue.string("machine")

    /// Stores a secret.
    func add(_ account: String, _ value: String, _ flags: AccessControlFlags = []) throws {
        _ = try client.add(
            AddItem(
                itemClass: .genericPassword,
                attributes: [.service: Self.service, .account: .string(account)],
                accessControl: try AccessControl(accessibility: .whenUnlocked, flags: flags),
                data: SecretBytes(copying: Array(value.utf8)),
                prompt: prompt()
            )
        )
    }

    /// The query for a secret, without its data.
    static func query(for account: String) -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: service, .account: .string(account)]
        )
    }

    private func query(_ account: String) -> ItemQuery {
        var query = Self.query(for: account)
        query.returns = .data
        return query
    }

    /// Reads a secret.
    func value(_ account: String) throws -> String? {
        let results = try client.copy(CopyItems(query: query(account), prompt: prompt()))
        let item = results.first()
        guard let data = try item?.copyData() else { return nil }
        return data.withOctets { octets in
            String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self)
        }
    }

    /// Deletes a secret.
    func delete(_ account: String) throws {
        _ = try client.delete(DeleteItems(query: query(account), prompt: prompt()))
    }

    /// Stores an item in place of another one, which is not read.
    func replace(_ account: String, _ value: String, _ flags: AccessControlFlags = []) throws {
        let request = ReplaceItem(
            query: query(account),
            itemClass: .genericPassword,
            attributes: [.service: Self.service, .account: .string(account)],
            accessControl: try AccessControl(accessibility: .whenUnlocked, flags: flags),
            data: SecretBytes(copying: Array(value.utf8)),
            prompt: prompt()
        )
        try client.replace(request)
    }

    /// Stops the daemon, runs `body`, and starts the daemon again.
    func stopped(_ body: () throws -> Void) async throws {
        stop(with: SIGTERM)
        try body()
        try await start()
    }

    /// The error of unlocking; nil if it succeeds.
    func refusal() -> KeychainError? { failure { try unlock() } }

    /// The error of an operation; nil if it succeeds.
    func failure(_ body: () throws -> Void) -> KeychainError? {
        do {
            try body()
            return nil
        } catch {
            return error as? KeychainError
        }
    }

    /// Runs `touchstone` at the keychain's terminal; the output is its standard error.
    func touchstone(_ arguments: String) async throws -> Finished {
        let terminal = prompt().origin.terminal ?? ""
        let errors = home.appending("errors")
        var finished = try await Finished.running(
            ["/bin/sh", "-c", "exec \(Programs.touchstone) \(arguments) 2>\(errors) <\(terminal)"],
            environment: ["TOUCHSTONE_HOME": home.path, "PATH": "/usr/bin:/bin"]
        )
        finished.output = try String(contentsOfFile: errors, encoding: .utf8)
        return finished
    }

    /// The path of a file in the data directory.
    func file(_ name: String) -> String { "\(layout.dataDirectory)/\(name)" }

    /// Runs the blocking `body` on its own thread.
    func apart<R: Sendable>(
        _ body: @escaping @Sendable (PrivateKeychain) throws -> R
    ) async throws -> R {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body(self) }) }
        }
    }
}

/// Copies of a keychain's files.
struct DataCopy {
    private let files: [String: Data]

    /// Copies the files of the data directory: all, or those named.
    init(of keychain: PrivateKeychain, _ names: Set<String>? = nil) throws {
        let directory = keychain.layout.dataDirectory
        var files: [String: Data] = [:]
        for name in try FileManager.default.contentsOfDirectory(atPath: directory)
        where names?.contains(name) ?? !name.hasPrefix("daemon.log") {
            files[name] = try Data(contentsOf: URL(fileURLWithPath: "\(directory)/\(name)"))
        }
        self.files = files
    }

    /// Copies the store alone.
    static func store(of keychain: PrivateKeychain) throws -> DataCopy {
        try DataCopy(of: keychain, ["items.sqlite", "items.sqlite-wal", "items.sqlite-mark"])
    }

    /// Replaces the files of a keychain, whose daemon must be stopped.
    func put(into keychain: PrivateKeychain) throws { try write(to: keychain.layout.dataDirectory) }

    /// Writes the files to a directory.
    func write(to directory: String) throws {
        try FileManager.default.createDirectory(
            atPath: directory,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        for suffix in ["", "-wal", "-mark", "-shm"] where files["items.sqlite"] != nil {
            try? FileManager.default.removeItem(atPath: "\(directory)/items.sqlite\(suffix)")
        }
        for (name, content) in files {
            try? FileManager.default.removeItem(atPath: "\(directory)/\(name)")
            guard
                FileManager.default.createFile(
                    atPath: "\(directory)/\(name)",
                    contents: content,
                    attributes: [.posixPermissions: 0o600]
                )
            else { throw Surprise("\(name) cannot be put back") }
        }
    }
}
