import CBOR
import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

/// A keychain in a private directory, which is removed at deinit.
final class TestKeychain: Sendable {
    static let passcode = "correct horse battery staple"
    /// The enrolled set at set-up.
    static let enrolled = Enrolment(
        device: "sensor",
        fingers: ["left-index"],
        templateDigest: nil,
        completions: 0
    )

    let path: String
    let audit = RecordedAudit()
    /// The number of 16-item groups per section, above which the store is not read completely at the first
    /// unlock; nil: the daemon's limit.
    let groupsInSection: Int?
    /// The maximum number of items; nil: the daemon's limit.
    let mostItems: Int?
    let delays: BackgroundDelays

    /// Longer than any test takes, even on a busy machine.
    static let never = Duration.seconds(86_400)

    /// By default the log is not checkpointed in the background.
    init(
        groupsInSection: Int? = nil,
        mostItems: Int? = nil,
        idleDelay: Duration = TestKeychain.never,
        sweepDelay: Duration = .seconds(2),
        purgeDelay: Duration = .seconds(5)
    ) {
        self.groupsInSection = groupsInSection
        self.mostItems = mostItems
        delays = BackgroundDelays(idle: idleDelay, sweep: sweepDelay, purge: purgeDelay)
        path = FileManager.default.temporaryDirectory.path + "/touchstone-" + UUID().uuidString
    }

    deinit {
        try? FileManager.default.removeItem(atPath: path)
    }

    /// Opens the keychain's files as a new run of the daemon does; `time` is the items' date, unless a clock is given.
    func start(
        time: Int64 = 1_700_000_000_000_000,
        clock: (@Sendable () -> Int64)? = nil,
        isForTests: Bool = false,
        mostItems: Int? = nil,
        sweepDelay: Duration? = nil
    ) throws -> KeychainEngine {
        let directory = try StoreDirectory(path: path)
        var delays = delays
        if let sweepDelay { delays.sweep = sweepDelay }
        return try KeychainEngine(
            directory: directory,
            sealer: FileKeySealer(directory: directory),
            derivation: .test,
            groupsInSection: groupsInSection,
            mostItems: mostItems ?? self.mostItems,
            delays: delays,
            isForTests: isForTests,
            wallClock: clock ?? { time },
            audit: audit
        )
    }

    /// A newly set-up, unlocked keychain, and its passcode key.
    func setUp(
        enrolled: Enrolment? = TestKeychain.enrolled
    ) async throws -> (KeychainEngine, PasscodeKey) {
        let engine = try start()
        try await engine.setUp(
            passcode: .text(Self.passcode),
            recoveryCode: try engine.makeRecoveryCode(),
            enrolled: enrolled
        )
        return (engine, try await engine.key(Self.passcode))
    }

    /// Restarts and unlocks; the former engine must have been released.
    func restart(unlocked: Bool = true, sweepDelay: Duration? = nil) async throws -> KeychainEngine {
        let engine = try start(sweepDelay: sweepDelay)
        if unlocked { _ = try await engine.key(Self.passcode) }
        return engine
    }

    /// Releases an engine, restarts and unlocks.
    func restart(_ engine: inout KeychainEngine?) async throws {
        await engine?.close()
        engine = nil
        engine = try await restart()
    }

    func file(_ name: String) -> String { path + "/" + name }

    func octets(_ name: String) throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: file(name))))
    }

    /// A file's length, which a test can poll without reading megabytes each time.
    func byteCount(_ name: String) throws -> Int {
        try FileManager.default.attributesOfItem(atPath: file(name))[.size] as? Int ?? 0
    }

    /// Replaces or creates a file, which only its owner can access.
    func put(_ octets: [UInt8], as name: String) throws {
        try Data(octets).write(to: URL(fileURLWithPath: file(name)))
        unsafe chmod(file(name), 0o600)
    }

    /// Overwrites a file in place, so that its owner and mode stay the same.
    func write(_ octets: [UInt8], to name: String) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: file(name)))
        try handle.truncate(atOffset: UInt64(octets.count))
        try handle.seek(toOffset: 0)
        try handle.write(contentsOf: Data(octets))
        try handle.close()
    }
}

/// Records the audit events of a test.
final class RecordedAudit: AuditLog {
    private let events = Guarded<[AuditEvent]>([])

    func record(_ event: AuditEvent) { events.withLock { $0.append(event) } }
    var kinds: [AuditEvent.Kind] { events.withLock { $0.map(\.kind) } }

    /// Waits for an event, with a deadline that suits the slowest machine.
    func waits(for kind: AuditEvent.Kind) async -> Bool {
        let found = try? await Deadline.wait(for: "\(kind)") { kinds.contains(kind) ? true : nil }
        return found == true
    }
}

extension SecretBytes {
    static func text(_ text: String) -> SecretBytes { SecretBytes(copying: Array(text.utf8)) }
}

extension AccessGroup {
    static let ours = AccessGroup("/usr/bin/ours").required
    static let theirs = AccessGroup("/usr/bin/theirs").required
}

extension Optional {
    /// Unwraps constants of tests.
    var required: Wrapped {
        guard let self else { fatalError("a constant of the tests is missing") }
        return self
    }
}

/// An item as it was returned.
struct CopiedItem {
    var reference: PersistentReference?
    var attributes: ItemAttributes?
    var data: [UInt8]?
    var invalidated: Int64?

    var text: String? { data.map { String(decoding: $0, as: UTF8.self) } }
}

extension KeychainEngine {
    /// Opens the keybag; throws if the passcode is wrong.
    func key(_ passcode: String) async throws -> PasscodeKey {
        guard case .opened(let key) = try await open(passcode: .text(passcode)) else { throw WrongPasscode() }
        return key
    }

    func opens(_ passcode: String) async throws -> Bool {
        do { _ = try await key(passcode) } catch is WrongPasscode { return false }
        return true
    }

    @discardableResult
    func add(
        _ account: String,
        _ secret: String? = "secret",
        _ control: AccessControl = AccessControl(accessibility: .whenUnlocked),
        attributes: ItemAttributes = [:],
        group: AccessGroup = .ours,
        password: ApplicationPassword? = nil
    ) async throws -> PersistentReference {
        var all: ItemAttributes = [.account: .string(account), .service: .string("tests")]
        all.merge(attributes) { $1 }
        let item = NewItem(
            itemClass: .genericPassword,
            attributes: all,
            accessControl: control,
            data: secret.asSecret(),
            returns: .persistentRef
        )
        let added = try await add(item, group: group, password: password)
        return try decode(added).first?.reference ?? missing()
    }

    /// Copies everything that matches, page by page.
    func all(
        _ attributes: ItemAttributes = [:],
        limit: ItemQuery.Limit = .all,
        returns: ItemQuery.Returns = [.data, .attributes, .persistentRef],
        references: [PersistentReference] = [],
        groups: [AccessGroup] = [.ours],
        proofs: [AuthenticationProof] = [],
        password: ApplicationPassword? = nil,
        ui: ItemQuery.AuthenticationUI = .allow
    ) async throws -> [CopiedItem] {
        let query = ItemQuery(
            itemClass: references.isEmpty ? .genericPassword : nil,
            attributes: attributes,
            limit: limit,
            returns: returns,
            references: references,
            authenticationUI: ui
        )
        let authorization = ItemAuthorization(proofs: proofs, applicationPassword: password)
        var found: [CopiedItem] = []
        var cursor: ItemCursor?
        repeat {
            switch try await copy(query, groups: groups, authorization: authorization, after: cursor) {
            case .items(let page):
                cursor = page.next
                found += try decode(page)
            case .needsAuthentication(let controls): throw NeedsAuthentication(controls: controls)
            }
        } while cursor != nil
        return found
    }

    /// Reads the secret of one account.
    func secret(_ account: String, proofs: [AuthenticationProof] = []) async throws -> String? {
        try await all([.account: .string(account), .service: .string("tests")], limit: .one, proofs: proofs)
            .first?.text
    }

    func update(
        _ account: String,
        attributes: ItemAttributes = [:],
        secret: String? = nil,
        control: AccessControl? = nil,
        proofs: [AuthenticationProof] = []
    ) async throws -> UpdateOutcome {
        try await update(
            ItemQuery(itemClass: .genericPassword, attributes: [.account: .string(account)]),
            groups: [.ours],
            changes: ItemChanges(attributes: attributes, accessControl: control, data: secret.asSecret()),
            authorization: ItemAuthorization(proofs: proofs)
        )
    }

    @discardableResult
    func delete(_ account: String, groups: [AccessGroup] = [.ours]) async throws -> Int {
        let query = ItemQuery(itemClass: .genericPassword, attributes: [.account: .string(account)])
        return try await delete(query, groups: groups)
    }
}

struct WrongPasscode: Error {}
struct MissingValue: Error {}

/// Thrown if a prompt is needed for these access controls.
struct NeedsAuthentication: Error {
    let controls: [AccessControl]
}

private func missing() throws -> PersistentReference { throw MissingValue() }

extension Optional<String> {
    func asSecret() -> SecretBytes? {
        switch self {
        case .some(let text): .text(text)
        case .none: nil
        }
    }
}

/// Decodes a page as a client does.
func decode(_ page: borrowing EncodedItems) throws -> [CopiedItem] {
    var limits = CBORLimits(depth: 8)
    limits.octets = 4 << 20
    limits.allowsTrailingOctets = true
    var items: [CopiedItem] = []
    let octets = page.octets.withOctets { span in
        var copy: [UInt8] = []
        for index in span.indices { copy.append(span[index]) }
        return copy
    }
    var rest = octets[...]
    while !rest.isEmpty {
        let (item, length) = try CBORReader.read(Array(rest), limits: limits) { reader in
            var item = CopiedItem()
            for _ in 0..<(try reader.readMapHead()) {
                switch try reader.readUnsigned() {
                case ItemField.reference: item.reference = PersistentReference(octets: try reader.readBytes())
                case ItemField.attributes: item.attributes = try reader.readAttributes()
                case ItemField.invalidated: item.invalidated = try reader.readInteger()
                default: item.data = try reader.readBytes()
                }
            }
            return (item, reader.offset)
        }
        items.append(item)
        rest = rest.dropFirst(length)
    }
    #expect(items.count == page.count)
    return items
}
