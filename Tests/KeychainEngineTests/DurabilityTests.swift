import Glibc
import KeychainEngine
import KeychainModel
import Testing

@Suite("A full disk", .serialized)
struct DurabilityTests {
    @Test(
        "a full disk refuses adds cleanly; reads, deletes and attempt counting keep working",
        .enabled(if: geteuid() == 0, "needs root")
    )
    func fullDisk() async throws {
        let keychain = TestKeychain()
        _ = unsafe mkdir(keychain.path, 0o700)
        // A container's root may not mount anything.
        guard unsafe mount("tmpfs", keychain.path, "tmpfs", 0, "size=256k,mode=0700") == 0 else { return }
        defer { unsafe umount2(keychain.path, CInt(MNT_DETACH)) }
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp()
        let attempts = AttemptRecord(biometryFailures: 1)
        var added = 0
        let large = String(repeating: "x", count: 4000)
        let error = await #expect(throws: KeychainError.self) {
            while added < 1000 {
                try await engine?.add("account \(added)", large + "\(added)")
                added += 1
            }
        }
        #expect(error?.status == .diskFull)
        #expect(added > 5)
        for index in 0..<added { #expect(try await engine?.secret("account \(index)") == large + "\(index)") }
        #expect(await engine?.check().isSetAuthentic == true)
        await engine?.close()
        engine = nil
        // The slots' blocks are already allocated.
        do {
            let file = AttemptFile(directory: try StoreDirectory(path: keychain.path))
            try file.save(attempts)
            #expect(try file.load() == attempts)
        }
        let next = try await keychain.restart()
        #expect(await next.check().items == added)
        for index in 0..<added { #expect(try await next.secret("account \(index)") == large + "\(index)") }
        await next.close()
    }
}
