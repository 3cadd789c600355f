import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("An orderly end of the daemon")
struct OrderlyEndTests {
    // Catches a daemon that ends without closing its files and leaves additions only in the log, where one
    // flipped bit lost them all.
    @Test("an orderly end leaves nothing only in the log", arguments: [SIGTERM, SIGINT], [false, true])
    func log(signal: Int32, isLocked: Bool) async throws {
        let keychain = try await PrivateKeychain.withFormerItems(settings: PrivateKeychain.keepsLog)
        #expect(try FileImage(of: keychain.layout.dataDirectory).files["items.sqlite-wal"]?.isEmpty == false)
        if isLocked { try keychain.client.lock() }
        keychain.stop(with: signal)
        var image = try FileImage(of: keychain.layout.dataDirectory)
        #expect(image.files["items.sqlite-wal"]?.isEmpty ?? true)
        image.files["items.sqlite-wal"] = nil
        #expect(try await OpenedImage(image).faults(Change.model(afterAnswers: 0)) == [])
    }
}
