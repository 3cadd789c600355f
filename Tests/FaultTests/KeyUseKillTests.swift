import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "A crash while a private key is used that may be used only so often",
    .serialized,
    .enabled(if: Strace.isThere, "needs root and strace")
)
struct KeyUseKillTests {
    // Catches a count that is committed after the use, or not durably.
    @Test("after a kill of the daemon at any write no answered use is uncounted", .timeLimit(.minutes(20)))
    func killed() async throws {
        let keychain = try await PrivateKeychain.ready()
        let key = try keychain.client.makeKey(
            MakeKey(
                accessControl: AccessControl(accessibility: .whenUnlocked),
                limits: try KeyLimits(uses: KeyLimits.mostUses),
                prompt: keychain.prompt()
            )
        )
        keychain.stop(with: SIGKILL)
        func usesLeft() throws -> UInt32? {
            let request = ReadKey(representation: key.representation, prompt: keychain.prompt())
            return try keychain.client.readKey(request).usesLeft
        }
        var (uncounted, counted) = (0, 0)
        for call in CaseSize.of(["fdatasync", "pwrite64"], full: Strace.writes) {
            for number in 1..<CaseSize.of(4, full: 40) {
                try await keychain.start()
                try keychain.unlock()
                let before = try #require(try usesLeft())
                let strace = try await Strace.attach(
                    to: keychain.processID,
                    Strace.killing(at: number, of: call)
                )
                let use = UseKey(
                    representation: key.representation,
                    use: .sign(digest: [UInt8](repeating: 7, count: 32)),
                    prompt: keychain.prompt()
                )
                let isAnswered = (try? keychain.client.useKey(use)) != nil
                keychain.stop(with: SIGKILL)
                strace.detach()
                try await keychain.start()
                try keychain.unlock()
                let after = try #require(try usesLeft())
                keychain.stop(with: SIGKILL)
                #expect(after == before || after == before - 1, "\(call) \(number): \(before), then \(after)")
                #expect(!isAnswered || after < before, "\(call) \(number): answered, not counted")
                if after == before { uncounted += 1 } else { counted += 1 }
                guard !isAnswered else { break }
            }
        }
        #expect(uncounted > 0 && counted > 0, "\(uncounted) uncounted, \(counted) counted")
    }
}
