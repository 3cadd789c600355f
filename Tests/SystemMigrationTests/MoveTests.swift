import Foundation
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import SystemMigration
import Testing
import TouchstoneTesting

/// A move between two directories of this process's own user.
struct PrivateMove {
    let home: TemporaryDirectory
    let places: MovePlaces
    var move: KeychainMove { KeychainMove(places) }

    /// Moves from `userDirectory`, or from one in a new home.
    init(_ userDirectory: String? = nil) throws {
        home = try TemporaryDirectory()
        let own = Account(uid: geteuid(), gid: getegid(), groups: [getegid()])
        places = MovePlaces(
            user: own,
            keeper: own,
            userDirectory: userDirectory ?? home.appending("own"),
            systemDirectory: home.appending("system"),
            administrator: own.uid
        )
    }

    /// Creates files with a keychain's names and arbitrary content.
    func fill(_ names: [String] = ["keybag", "device.key", "items.sqlite", "items.sqlite-wal"]) throws {
        try Self.makePrivate(places.userDirectory)
        for name in names { try write("content of \(name)", to: places.userDirectory + "/" + name) }
    }

    static func makePrivate(_ path: String) throws {
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
    }

    func write(_ text: String, to path: String) throws {
        try text.write(toFile: path, atomically: false, encoding: .utf8)
        guard unsafe chmod(path, 0o600) == 0 else { throw POSIXError(.EIO) }
    }

    static func names(_ path: String) -> Set<String> {
        Set((try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [])
    }

    static func content(_ path: String) -> [String: String] {
        var files: [String: String] = [:]
        for name in names(path) {
            files[name] = try? String(contentsOfFile: path + "/" + name, encoding: .utf8)
        }
        return files
    }

    var own: Set<String> { Self.names(places.userDirectory) }
    var kept: Set<String> { Self.names(places.keptDirectory) }
}

@Suite("Moving a keychain to system mode and back", .timeLimit(.minutes(20)))
struct MoveTests {
    private static func items(_ keychain: PrivateKeychain) throws -> [String: String] {
        var items: [String: String] = [:]
        for name in ["plain", "passcode", "device"] { items[name] = try value(name, of: keychain) }
        return items
    }

    private static let service = AttributeValue.string("move")

    private static func value(_ name: String, of keychain: PrivateKeychain) throws -> String? {
        var query = ItemQuery(
            itemClass: .genericPassword,
            attributes: [.service: service, .account: .string(name)]
        )
        query.returns = .data
        let results = try keychain.client.copy(CopyItems(query: query, prompt: keychain.prompt()))
        guard let data = try results.first()?.copyData() else { return nil }
        return data.withOctets { octets in String(decoding: octets.indices.map { octets[$0] }, as: UTF8.self)
        }
    }

    private static func add(_ name: String, to keychain: PrivateKeychain, _ control: AccessControl) throws {
        _ = try keychain.client.add(
            AddItem(
                itemClass: .genericPassword,
                attributes: [.service: service, .account: .string(name)],
                accessControl: control,
                data: SecretBytes(copying: Array("secret \(name)".utf8)),
                prompt: keychain.prompt()
            )
        )
    }

    /// Two private keys: one usable when unlocked, and one that requires the passcode.
    private static func keys(of keychain: PrivateKeychain) throws -> [EnclaveKey] {
        try [[], [.devicePasscode, .privateKeyUsage]].map { (flags: AccessControlFlags) in
            let control = try AccessControl(accessibility: .whenUnlockedThisDeviceOnly, flags: flags)
            return try keychain.client.makeKey(MakeKey(accessControl: control, prompt: keychain.prompt()))
        }
    }

    private static func signs(_ key: EnclaveKey, in keychain: PrivateKeychain) throws -> Bool {
        let request = UseKey(
            representation: key.representation,
            use: .sign(digest: [UInt8](repeating: 7, count: 32)),
            context: keychain.client.makeContextNumber(),
            prompt: keychain.prompt()
        )
        return try keychain.client.useKey(request).count == 64
    }

    /// Opens the moved keychain with the daemon, in the place where tests have their keychain.
    private func thereAndBack(tpm: String?) async throws {
        let keychain = try await PrivateKeychain.ready(tpm: tpm, settings: ["log-level = debug"])
        try Self.add("plain", to: keychain, AccessControl(accessibility: .whenUnlocked))
        try Self.add(
            "passcode",
            to: keychain,
            AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        )
        try Self.add("device", to: keychain, AccessControl(accessibility: .whenUnlockedThisDeviceOnly))
        let keys = try Self.keys(of: keychain)
        #expect(keys.allSatisfy { $0.isHardware == (tpm != nil) })
        #expect(try keys.allSatisfy { try Self.signs($0, in: keychain) })
        let wanted = ["plain": "secret plain", "passcode": "secret passcode", "device": "secret device"]
        #expect(try Self.items(keychain) == wanted)

        let data = keychain.layout.dataDirectory
        let moving = try PrivateMove(data)
        // The daemon is running: it is asked to end.
        do {
            #expect(try moving.move.enable() == .needsCheck)
        } catch {
            Issue.record("\(error); \(keychain.report)")
            throw error
        }
        try await Deadline.wait(for: "the daemon's end") { keychain.isRunning ? nil : true }
        #expect(try moving.move.standing() == .systemUnchecked)

        // A daemon of the user's own opens and creates nothing here.
        await #expect(throws: TestKitError.self) { try await keychain.start() }
        try await keychain.expectLogged("has moved to \(moving.places.keptDirectory)")

        // The daemon opens the moved files in its own place.
        func opened(_ path: String) async throws -> [String: String] {
            let aside = moving.home.appending("aside")
            try FileManager.default.moveItem(atPath: data, toPath: aside)
            try FileManager.default.moveItem(atPath: path, toPath: data)
            try await keychain.start()
            try keychain.unlock()
            let items = try Self.items(keychain)
            #expect(try keys.allSatisfy { try Self.signs($0, in: keychain) })
            let report = try keychain.client.check()
            #expect(
                report.damaged == 0 && report.isSetAuthentic && report.faults.isEmpty && report.items == 3
            )
            keychain.stop(with: SIGTERM)
            try FileManager.default.moveItem(atPath: data, toPath: path)
            try FileManager.default.moveItem(atPath: aside, toPath: data)
            return items
        }
        #expect(try await opened(moving.places.keptDirectory) == wanted)
        try moving.move.finishEnabling()
        #expect(moving.own == ["moved"])
        #expect(try moving.move.standing() == .system)
        #expect(throws: MoveError.self) { try moving.move.enable() }

        #expect(try moving.move.disable() == .needsCheck)
        #expect(try moving.move.standing() == .returned)
        #expect(moving.kept.isEmpty)
        try await keychain.start()
        try keychain.unlock()
        #expect(try Self.items(keychain) == wanted)
        #expect(try keys.allSatisfy { try Self.signs($0, in: keychain) })
        keychain.stop(with: SIGTERM)
        try moving.move.finishDisabling()
        #expect(try moving.move.standing() == .perUser)
        #expect(PrivateMove.names(moving.places.systemDirectory).isEmpty)
    }

    @Test("a moved keychain has the same content in each place, and a running daemon is asked to end")
    func software() async throws { try await thereAndBack(tpm: nil) }

    @Test(
        "a move works on a TPM, whose sealing does not depend on the files' owner",
        .enabled(if: access("/usr/bin/swtpm", X_OK) == 0, "swtpm is missing")
    )
    func hardware() async throws {
        let chip = try await SoftwareTPM.start()
        let recorder = try TPMRecorder(chip)
        try await thereAndBack(tpm: recorder.tcti)
    }

    @Test("a move ends a daemon that waits at a prompt, and its prompt")
    func openPrompt() async throws {
        let keychain = try await PrivateKeychain.ready()
        try keychain.client.lock()
        let shown = keychain.prompts
        try keychain.tellPerson([.waits])
        let asking = BlockingCall { () -> KeychainError? in
            do {
                try keychain.unlock()
                return nil
            } catch {
                return error as? KeychainError
            }
        }
        try await Deadline.wait(for: "the box") { keychain.prompts > shown ? true : nil }
        let moving = try PrivateMove(keychain.layout.dataDirectory)
        #expect(try moving.move.enable() == .needsCheck)
        #expect(try await asking.value != nil)
        #expect(moving.kept.isSuperset(of: ["keybag", "items.sqlite"]))
    }

    @Test("moving a missing keychain, a second move and a second way back are reported")
    func states() throws {
        let moving = try PrivateMove()
        #expect(code { try moving.move.disable() } == .notEnabled)
        #expect(code { try moving.move.finishEnabling() } == .notEnabled)
        #expect(try moving.move.enable() == .empty)
        #expect(moving.own == ["moved"] && moving.kept.isEmpty)
        #expect(try moving.move.standing() == .system)
        #expect(code { try moving.move.enable() } == .enabledAlready)
        #expect(code { try moving.move.finishDisabling() } == .enabledAlready)
        #expect(try moving.move.disable() == .empty)
        try moving.move.finishDisabling()
        #expect(moving.own.isEmpty)
        #expect(try moving.move.standing() == .perUser)
    }

    private func code(_ body: () throws -> Void) -> MoveError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? MoveError)?.code
        }
    }

    private func code(_ body: () throws -> KeychainMove.Outcome) -> MoveError.Code? {
        code { () throws -> Void in _ = try body() }
    }

    @Test(
        "a file that is a link, linked twice, a FIFO, a directory, too open or too large is not copied",
        arguments: [
            "ln -s /etc/passwd", "ln $0/other", "mkfifo -m 600", "mkdir", "install -m 644 $0/other",
            "truncate -s 2M",
        ]
    )
    func hostile(command: String) async throws {
        let moving = try PrivateMove()
        try moving.fill(["device.key", "items.sqlite"])
        try moving.write("another", to: moving.home.appending("other"))
        let file = moving.places.userDirectory + "/keybag"
        let made = try await ChildProcess.start(
            "/bin/sh",
            ["-c", "umask 077; \(command) \"$1\"", moving.home.path, file],
            environment: ["PATH": "/usr/bin:/bin"]
        )
        #expect(try await made.waitUntilEnd() == 0)
        let before = moving.own
        #expect(code { try moving.move.enable() } == .unsafePlace)
        #expect(moving.own == before && moving.kept.isEmpty)
        #expect(PrivateMove.names(moving.places.systemDirectory).isEmpty)
        #expect(try moving.move.standing() == .perUser)
    }

    @Test("a directory that is a link, or accessible to others, is refused")
    func hostileDirectory() throws {
        let moving = try PrivateMove()
        try moving.fill()
        let path = moving.places.userDirectory
        #expect(chmod(path, 0o755) == 0)
        #expect(code { try moving.move.enable() } == .unsafePlace)
        #expect(chmod(path, 0o700) == 0)
        try FileManager.default.moveItem(atPath: path, toPath: path + ".real")
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: path + ".real")
        #expect(code { try moving.move.enable() } == .unsafePlace)
        #expect(moving.kept.isEmpty)
    }

    @Test("all files of the keychain are moved, and other files are left")
    func foreignFiles() throws {
        let moving = try PrivateMove()
        let all =
            StoreFile.allCases.map(\.rawValue) + ["daemon.log", "daemon.log.1", "items.sqlite.damaged-1-wal"]
        try moving.fill(all)
        try moving.write("mine", to: moving.places.userDirectory + "/notes.txt")
        #expect(try moving.move.enable() == .needsCheck)
        #expect(moving.kept == Set(all))
        try moving.move.finishEnabling()
        #expect(moving.own == ["moved", "notes.txt"])
        #expect(try moving.move.disable() == .needsCheck)
        try moving.move.finishDisabling()
        #expect(moving.own == Set(all + ["notes.txt"]))
        for name in all {
            let text = try String(contentsOfFile: moving.places.userDirectory + "/" + name, encoding: .utf8)
            #expect(text == "content of \(name)")
        }
    }

    @Test("a keychain never opened in system mode is kept aside when the moved one comes back")
    func unchecked() throws {
        let moving = try PrivateMove()
        try moving.fill()
        #expect(try moving.move.enable() == .needsCheck)
        try moving.write("newer", to: moving.places.keptDirectory + "/keybag")
        #expect(try moving.move.disable() == .needsCheck)
        let path = moving.places.userDirectory
        #expect(try String(contentsOfFile: path + "/keybag", encoding: .utf8) == "newer")
        #expect(try String(contentsOfFile: path + "/former-1/keybag", encoding: .utf8) == "content of keybag")
    }

    @Test("a lost keychain is reported and not recreated, and of two keychains none is removed")
    func lostAndTwofold() throws {
        let moving = try PrivateMove()
        try moving.fill()
        #expect(try moving.move.enable() == .needsCheck)
        let path = moving.places.userDirectory
        try FileManager.default.removeItem(atPath: path + "/moved")
        #expect(try moving.move.standing() == .twofold)
        #expect(code { try moving.move.enable() } == .twoKeychains)
        #expect(code { try moving.move.disable() } == .twoKeychains)
        #expect(code { try moving.move.finishEnabling() } == .twoKeychains)
        #expect(moving.kept == moving.own)

        try moving.write(moving.places.keptDirectory, to: path + "/moved")
        // Emptied by others: the user's remaining files are not removed.
        for name in moving.kept {
            try FileManager.default.removeItem(atPath: moving.places.keptDirectory + "/" + name)
        }
        #expect(code { try moving.move.finishEnabling() } == .lost)
        #expect(moving.own.contains("keybag"))
        try FileManager.default.removeItem(atPath: moving.places.keptDirectory)
        for name in moving.own.subtracting(["moved"]) {
            try FileManager.default.removeItem(atPath: path + "/" + name)
        }
        #expect(try moving.move.standing() == .lost)
        #expect(code { try moving.move.enable() } == .lost)
        #expect(code { try moving.move.disable() } == .lost)
    }
}
