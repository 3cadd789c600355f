import Foundation
import Glibc
import KeychainClient
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite(
    "A crash while a private key is deleted",
    .serialized,
    .enabled(if: Strace.isThere, "needs root and strace")
)
struct KeyDeletionKillTests {
    private static let name = "key"

    /// What the files hold: whether there is an item of the key, and whether the key can be used.
    private static func found(
        _ key: EnclaveKey,
        in image: FileImage
    ) async throws -> (item: Bool, key: Bool) {
        let home = try TemporaryDirectory()
        let path = home.appending("data")
        try image.write(to: path)
        let engine = try OpenedImage.engine(StoreDirectory(path: path))
        let typed = SecretBytes(copying: Array(PrivateKeychain.passcode.utf8))
        guard case .opened = try await engine.keybag.open(passcode: typed) else {
            throw TestKitError.unexpected("the passcode opens nothing")
        }
        let report = engine.items.check()
        #expect(report.damaged == 0 && report.isSetAuthentic && report.faults.isEmpty, "\(report)")
        let item = try await !OpenedImage.items(of: engine, account: name).isEmpty
        var isUsable = true
        do {
            let outcome = try await engine.keys.use(
                key.representation,
                for: .sign(digest: [UInt8](repeating: 7, count: 32)),
                groups: [OpenedImage.ownGroup],
                authorization: ItemAuthorization()
            )
            guard case .done = consume outcome else { throw TestKitError.unexpected("more is needed") }
        } catch let error as KeychainError where error.cause == .deleted {
            isUsable = false
        }
        await engine.close()
        return (item, isUsable)
    }

    // Catches an end of the key that is committed before or after the deletion of its item.
    @Test(
        "after a kill of the daemon at any write both the item and its key are there, or neither",
        .timeLimit(.minutes(20))
    )
    func killed() async throws {
        let keychain = try await PrivateKeychain.ready()
        let control = AccessControl(accessibility: .whenUnlocked)
        let key = try keychain.client.makeKey(MakeKey(accessControl: control, prompt: keychain.prompt()))
        let attributes: ItemAttributes = [.service: PrivateKeychain.service, .account: .string(Self.name)]
        _ = try keychain.client.add(
            AddItem(
                itemClass: .genericPassword,
                attributes: attributes.merging([.namedKeys: .keys([key.representation])]) { $1 },
                accessControl: control,
                data: SecretBytes(copying: [1]),
                context: nil,
                prompt: keychain.prompt()
            )
        )
        keychain.stop(with: SIGKILL)
        let former = try FileImage(of: keychain.layout.dataDirectory)
        #expect(try await Self.found(key, in: former) == (true, true))
        let query = ItemQuery(itemClass: .genericPassword, attributes: attributes)
        var (before, after) = (0, 0)
        for call in CaseSize.of(["fdatasync", "pwrite64"], full: Strace.writes) {
            for number in 1..<CaseSize.of(4, full: 40) {
                try former.write(to: keychain.layout.dataDirectory)
                try await keychain.start()
                try keychain.unlock()
                let strace = try await Strace.attach(
                    to: keychain.processID,
                    Strace.killing(at: number, of: call)
                )
                let request = DeleteItems(query: query, prompt: keychain.prompt())
                let isAcknowledged = (try? keychain.client.delete(request)) != nil
                keychain.stop(with: SIGKILL)
                strace.detach()
                let image = try FileImage(of: keychain.layout.dataDirectory)
                let found = try await Self.found(key, in: image)
                #expect(found.item == found.key, "\(call) \(number): \(found)")
                #expect(!isAcknowledged || !found.key, "\(call) \(number): acknowledged")
                if found.key { before += 1 } else { after += 1 }
                guard !isAcknowledged else { break }
            }
        }
        #expect(before > 0 && after > 0, "\(before) before, \(after) after")
    }
}
