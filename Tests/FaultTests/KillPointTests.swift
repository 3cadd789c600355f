import Glibc
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("A crash at the worst moment", .serialized)
struct KillPointTests {
    /// The calls that change files; each of them is a point to die at.
    private static let writes = "pwrite64,fdatasync,fsync,ftruncate,unlink,unlinkat,rename,renameat,linkat"

    /// Adds, changes and deletes, and notes what was answered.
    private func play(_ keychain: TemporaryKeychain, _ model: inout Model) throws {
        for round in 0..<3 {
            let account = "item \(round)"
            model.before(account, becomes: "first")
            try keychain.add(account, "first")
            model.answered(account, is: "first")
            model.before(account, becomes: "second")
            try keychain.update(account, "second")
            model.answered(account, is: "second")
            let former = "former \(round)"
            model.before(former, becomes: nil)
            try keychain.delete(former)
            model.answered(former, is: nil)
        }
    }

    @Test(
        "killed at any write, the store opens, holds all that was acknowledged and nothing that was deleted (S01)",
        .enabled(if: access("/usr/bin/strace", X_OK) == 0, "strace is not installed"),
        .timeLimit(.minutes(5))
    )
    func everyWrite() async throws {
        var killed = 0
        for point in 1... {
            let keychain = try await TemporaryKeychain.ready()
            var model = Model()
            for round in 0..<3 {
                try keychain.add("former \(round)", "old")
                model.answered("former \(round)", is: "old")
            }
            keychain.stop(with: SIGKILL)
            try await keychain.start(through: [
                "/usr/bin/strace", "-f", "-qq", "-e", "trace=none", "-e", "signal=none",
                "-e", "inject=\(Self.writes):signal=KILL:when=\(point)",
            ])
            var wasKilled = false
            do {
                try keychain.unlock()
                try play(keychain, &model)
            } catch {
                wasKilled = true
            }
            keychain.stop(with: SIGKILL)
            try await keychain.start()
            try keychain.unlock()
            let faults = model.faults(in: try keychain.all())
            #expect(faults.isEmpty, "killed at write \(point)")
            let report = try keychain.client.check()
            #expect(report.damaged == 0 && report.isSetAuthentic, "killed at write \(point): \(report)")
            guard wasKilled else { break }
            killed += 1
        }
        // Nine changes, each of some writes and a flush, beside the unlocking's own.
        #expect(killed >= 30, "only \(killed) points were found")
    }
}
