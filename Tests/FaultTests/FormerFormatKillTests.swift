import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Primitives
import SecretMemory
import Testing
import TouchstoneTesting

@testable import KeychainEngine

@Suite(
    "A crash or power loss during the conversion of a format 1 file",
    .serialized,
    .enabled(if: Strace.isThere, "needs root and strace"),
    .timeLimit(.minutes(20))
)
struct FormerFormatKillTests {
    private static let passcode = "correct horse battery staple"

    /// A format 1 keychain adapted for a daemon of tests: 43 items, two of the last changes only in the log.
    private func former() async throws -> FileImage {
        let fixture = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("KeychainEngineTests/Fixtures/store-1")
        var image = try FileImage(of: fixture.path)
        let home = try TemporaryDirectory()
        let path = home.appending("data")
        try image.write(to: path)
        let directory = try StoreDirectory(path: path)
        let key = try DeviceKeyFile(directory: directory).key(.keybagCode)
        guard let deviceKey = key else { throw TestKitError.unexpected("no device key") }
        var record = try #require(try KeybagFile(in: directory).read().intact).record
        record.revision = 1
        record.assurance = .test
        let keybagKey = try await keybagKey(of: record, FileKeySealer(directory: directory))
        // The fixture was made with the file sealer itself; a daemon's sealer puts its kind first.
        record.blob = [1] + record.blob
        let sealKey = KeybagKeys.sealKey(keybagKey: keybagKey, storeID: record.storeID)
        image.files["keybag"] = StoredKeybag.file(of: record, sealKey: sealKey, deviceKey: deviceKey)
        return image
    }

    private func keybagKey(of record: KeybagRecord, _ sealer: FileKeySealer) async throws -> Key {
        let passcode = Key(SecretBytes(copying: Array(Self.passcode.utf8)))
        let stretched = await PasscodeDerivation.derive(passcode, salt: record.salt, cost: record.cost)
        let authorization = KeybagKeys.sealAuthorization(stretched: stretched, storeID: record.storeID)
        let device = Key(try await sealer.unseal(record.blob, authorization: authorization.copy()))
        let wrapping = KeybagKeys.passcodeKey(stretched: stretched, device: device, storeID: record.storeID)
        return try #require(
            KeybagKeys.unwrap(record.passcodeWrap, KeybagKeys.byPasscode, in: record, with: wrapping)
        )
    }

    private func faults(_ image: FileImage) async throws -> [String] {
        try await OpenedStore.opening(image, passcode: Self.passcode) { opened in
            var faults: [String] = []
            let report = opened.engine.items.check()
            if !report.isSetAuthentic || report.damaged > 0 || !report.faults.isEmpty || report.items != 43 {
                faults.append("\(report)")
            }
            let group = try #require(AccessGroup("/usr/bin/ours"))
            func value(_ account: String) async throws -> String? {
                try await OpenedImage.items(
                    of: opened.engine,
                    .string("tests"),
                    account: account,
                    group: group
                )[account]
            }
            for index in 0..<40 {
                let wanted =
                    index == 5 ? nil : index == 6 || index == 7 ? "newer \(index)" : "secret \(index)"
                let found = try await value("account \(index)")
                if found != wanted { faults.append("account \(index): \(found ?? "nothing")") }
            }
            if try await value("in the log") != "in the log" { faults.append("the log's item is gone") }
            if try await value("large")?.count != 6000 { faults.append("the large item is gone") }
            if try FileImage(of: opened.path).files["items.sqlite"]?[63] != 2,
                try FileImage(of: opened.path).files["items.sqlite-wal"]?.isEmpty ?? true
            {
                faults.append("the format is not the present one")
            }
            return faults
        }
    }

    /// A daemon with these files, still locked.
    private func started(_ image: FileImage) async throws -> PrivateKeychain {
        let keychain = try PrivateKeychain()
        try image.write(to: keychain.layout.dataDirectory)
        try await keychain.start()
        let passcode = ScriptedPinentry.Deed.types(Self.passcode)
        try keychain.tellPerson([passcode, passcode, passcode])
        return keychain
    }

    // Catches tags without the new version number, or the reverse, and a sum removed before there are tags.
    @Test("after a kill at any write the file is converted or not, and all items are present")
    func kills() async throws {
        let image = try await former()
        #expect(try await faults(image) == [])
        var killed = 0
        for call in Strace.writes {
            for number in stride(from: 1, to: 400, by: CaseSize.of(2, full: 1)) {
                let keychain = try await started(image)
                let strace = try await Strace.attach(
                    to: keychain.processID,
                    Strace.killing(at: number, of: call)
                )
                let isOpen = (try? keychain.unlock()) != nil
                keychain.stop(with: SIGKILL)
                strace.detach()
                let left = try FileImage(of: keychain.layout.dataDirectory)
                let faults = try await faults(left)
                #expect(faults.isEmpty, "killed at \(call) \(number)")
                guard !isOpen else { break }
                killed += 1
            }
        }
        #expect(killed >= CaseSize.of(2, full: 4), "\(killed)")
    }

    @Test("after lost or torn unsynced writes all items are present")
    func powerLoss() async throws {
        let keychain = try await started(try await former())
        let recording = try await Recording(of: keychain) { try keychain.unlock() }
        keychain.stop(with: SIGKILL)
        #expect(recording.gaps == [])
        for moment in recording.moments(count: CaseSize.of(30, full: 1000)) {
            let faults = try await faults(moment.image)
            #expect(faults.isEmpty, "\(moment.name)")
        }
    }
}
