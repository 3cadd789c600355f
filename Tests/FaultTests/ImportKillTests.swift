import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Synchronization
import Testing
import TouchstoneTesting

@Suite(
    "A crash during an import",
    .serialized,
    .enabled(if: Strace.isThere, "needs root and strace")
)
struct ImportKillTests {
    private static let steps = ["pwrite64": 5]

    private func export(_ keychain: PrivateKeychain) throws -> [UInt8] {
        let collected = Mutex<[UInt8]>([])
        _ = try keychain.client.exportKeychain(keychain.prompt()) { octets, _ in
            collected.withLock { $0 += octets }
        }
        return collected.withLock { $0 }
    }

    private func make(_ keychain: PrivateKeychain, of export: [UInt8]) throws {
        try keychain.client.sendImport(ImportPart(offset: 0, octets: export))
        #expect(try keychain.client.importKeychain(keychain.prompt()) == Change.former.count)
    }

    // Catches a keybag written before its items, and items taken for a keychain that lost its keybag.
    @Test(
        "a crash leaves no keychain or the whole one, and the import can be repeated",
        .timeLimit(.minutes(20))
    )
    func kills() async throws {
        let old = try await PrivateKeychain.withFormerItems()
        let export = try export(old)
        let keychain = try PrivateKeychain()
        try FileManager.default.copyItem(
            atPath: old.home.appending("code"),
            toPath: keychain.home.appending("code")
        )
        var model = Model()
        for change in Change.former { model.answered(change.account, is: change.value) }
        var killed: [String: Int] = [:]
        var outcomes: [KeybagState: Int] = [:]
        for call in ["renameat", "renameat2", "fsync", "fdatasync", "ftruncate", "unlinkat", "pwrite64"] {
            for number in stride(from: 1, to: 500, by: Self.steps[call] ?? 1) {
                try FileImage().write(to: keychain.layout.dataDirectory)
                var isMade = false
                do {
                    try await keychain.start(through: Strace.wrapper(Strace.killing(at: number, of: call)))
                    try make(keychain, of: export)
                    isMade = true
                } catch {}
                keychain.stop(with: SIGKILL)
                guard !isMade else { break }
                killed[call, default: 0] += 1
                let moment = "killed at \(call) \(number)"
                let image = try FileImage(of: keychain.layout.dataDirectory)
                let found = try await OpenedImage(image)
                outcomes[found.state, default: 0] += 1
                guard found.state == .notSetUp else {
                    #expect(found.faults(model).isEmpty, "\(moment)")
                    continue
                }
                let canBeMade = try await OpenedImage.canBeMade(in: image)
                #expect(canBeMade, "\(moment)")
                // From time to time the daemon itself is used, which takes longer.
                guard killed.values.reduce(0, +) % 10 == 1 else { continue }
                try await keychain.start()
                try make(keychain, of: export)
                #expect(model.faults(in: try keychain.all()).isEmpty, "\(moment)")
                keychain.stop(with: SIGKILL)
            }
        }
        // Device key, attempt file and set-up mark are each put in place by a rename; keybag, its copy and
        // the items by one that replaces nothing.
        let renames = killed["renameat", default: 0] + killed["renameat2", default: 0]
        #expect(renames >= 4 && killed["renameat2", default: 0] >= 3, "\(killed)")
        #expect(killed["fsync", default: 0] >= 8, "\(killed)")
        #expect(outcomes[.notSetUp, default: 0] > 10 && outcomes[.locked, default: 0] > 0, "\(outcomes)")
        #expect(try model.faults(in: old.all()).isEmpty, "the old keychain is as it was")
    }
}
