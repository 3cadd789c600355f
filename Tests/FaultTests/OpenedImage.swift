import CBOR
import Foundation
import KeychainEngine
import KeychainModel
import SecretMemory
import TouchstoneTesting

/// The state that a daemon would find in files, determined by opening them with its engine in this process.
struct OpenedImage {
    /// The passcodes that opened the keybag.
    var opening: [String] = []
    var state = KeybagState.damaged
    var items: [String: String] = [:]
    var report = StoreReport(items: 0, invalidated: 0, damaged: 0, isSetAuthentic: false, faults: [])
    var attempts: AttemptRecord?

    /// Opens files with each of the passcodes.
    init(_ image: FileImage, passcodes: [String] = [PrivateKeychain.passcode]) async throws {
        let home = try TemporaryDirectory()
        let path = home.appending("data")
        try image.write(to: path)
        let directory = try StoreDirectory(path: path)
        attempts = try? AttemptFile(directory: directory).load()
        let engine = try Self.engine(directory)
        state = await engine.keybag.state()
        guard state == .locked else { return }
        for passcode in passcodes {
            let typed = SecretBytes(copying: Array(passcode.utf8))
            if case .opened = try await engine.keybag.open(passcode: typed) { opening.append(passcode) }
        }
        guard !opening.isEmpty else { return }
        report = engine.items.check()
        items = try await Self.items(of: engine)
        await engine.close()
    }

    /// The faults of the items; empty if there are none.
    func faults(_ model: Model) -> [String] {
        var faults = model.faults(in: items)
        if opening.isEmpty { faults.append("the passcode opens nothing: \(state)") }
        if report.damaged != 0 || !report.isSetAuthentic || !report.faults.isEmpty {
            faults.append("\(report)")
        }
        return faults
    }

    static func engine(_ directory: StoreDirectory) throws -> KeychainEngine {
        try KeychainEngine(
            directory: directory,
            sealer: DeviceSealer(file: FileKeySealer(directory: directory), hardware: nil),
            derivation: .test
        )
    }

    /// The access group of this process as the daemon determines it, also after its file was replaced.
    static var ownGroup: AccessGroup {
        get throws {
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            let mark = " (deleted)"
            let isGone = program.hasSuffix(mark) && !FileManager.default.fileExists(atPath: program)
            let path = isGone ? String(program.dropLast(mark.count)) : program
            guard let group = AccessGroup(path) else { throw TestKitError.unexpected(path) }
            return group
        }
    }

    /// The items of a service by account; all, or one of them.
    static func items(
        of engine: KeychainEngine,
        _ service: AttributeValue = PrivateKeychain.service,
        account: String? = nil,
        group: AccessGroup? = nil
    ) async throws -> [String: String] {
        var attributes: ItemAttributes = [.service: service]
        if let account { attributes[.account] = .string(account) }
        let query = ItemQuery(
            itemClass: .genericPassword,
            attributes: attributes,
            limit: account == nil ? .all : .one,
            returns: [.attributes, .data]
        )
        do {
            let group = try group ?? ownGroup
            var items: [String: String] = [:]
            var cursor: ItemCursor?
            repeat {
                let outcome = try engine.items.copy(
                    query,
                    groups: [group],
                    authorization: ItemAuthorization(),
                    after: cursor
                )
                switch consume outcome {
                case .done(let page):
                    cursor = page.next
                    items.merge(try decode(page)) { $1 }
                default: throw TestKitError.unexpected("an item needs the user")
                }
            } while cursor != nil
            return items
        } catch let error as KeychainError where error.status == .itemNotFound {
            return [:]
        }
    }

    /// Items by account, each as a text; by default its value.
    static func decode(
        _ page: borrowing EncodedItems,
        _ text: (ItemAttributes, [UInt8]) -> String = { String(decoding: $1, as: UTF8.self) }
    ) throws -> [String: String] {
        var limits = CBORLimits(depth: 8)
        limits.octets = 4 << 20
        limits.allowsTrailingOctets = true
        var octets = page.octets.withOctets { span in span.indices.map { span[$0] } }[...]
        var items: [String: String] = [:]
        while !octets.isEmpty {
            let length = try CBORReader.read(Array(octets), limits: limits) { reader in
                var attributes: ItemAttributes = [:]
                var value: [UInt8] = []
                for _ in 0..<(try reader.readMapHead()) {
                    guard try reader.readUnsigned() == ItemField.attributes else {
                        value = try reader.readBytes()
                        continue
                    }
                    attributes = try reader.readAttributes()
                }
                var account = ""
                if case .string(let name) = attributes[.account] { account = name }
                items[account] = text(attributes, value)
                return reader.offset
            }
            octets = octets.dropFirst(length)
        }
        return items
    }
}

extension OpenedImage {
    /// Whether a keychain can be set up after an interrupted set-up.
    static func canBeMade(in image: FileImage) async throws -> Bool {
        let home = try TemporaryDirectory()
        let path = home.appending("data")
        try image.write(to: path)
        let engine = try engine(StoreDirectory(path: path))
        let passcode = SecretBytes(copying: Array(PrivateKeychain.passcode.utf8))
        try await engine.keybag.setUp(
            passcode: passcode,
            recoveryCode: try engine.keybag.makeRecoveryCode()
        )
        let report = engine.items.check()
        return await engine.keybag.state() == .unlocked && report.isSetAuthentic && report.damaged == 0
    }
}
