import Foundation
import Glibc
import KeychainClient
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite(
    "A crash or power loss during a repair",
    .serialized,
    .enabled(if: DamagedStore.isPossible, "needs root, strace and sqlite3"),
    .timeLimit(.minutes(CaseSize.of(20, full: 90)))
)
struct RepairKillTests {
    /// Writes are numerous and similar, so only some are tried in every run.
    private static func step(_ call: String) -> Int { CaseSize.of(call == "pwrite64" ? 20 : 5, full: 1) }

    // Catches a two-rename replacement that nothing completes, and a damaged file that is overwritten or not
    // kept.
    @Test(
        "after a kill at any write the repair is done or not, and can be repeated",
        arguments: DamagedStore.Damage.allCases
    )
    func kills(_ damage: DamagedStore.Damage) async throws {
        let store = try await DamagedStore(damage)
        let keychain = try PrivateKeychain()
        var killed: [String: Int] = [:]
        for accepting in [true, false] {
            for call in Strace.writes {
                for number in stride(from: 1, to: 2000, by: Self.step(call)) {
                    try store.image.write(to: keychain.layout.dataDirectory)
                    try await keychain.start()
                    try keychain.unlock()
                    let strace = try await Strace.attach(
                        to: keychain.processID,
                        Strace.killing(at: number, of: call)
                    )
                    let repair = try? keychain.client.repair(keychain.prompt(), accepting: accepting)
                    keychain.stop(with: SIGKILL)
                    strace.detach()
                    let image = try FileImage(of: keychain.layout.dataDirectory)
                    let faults = try await store.faults(in: image, isAcknowledged: accepting && repair != nil)
                    #expect(
                        faults.isEmpty,
                        "\(accepting ? "accepted" : "shown"), killed at \(call) \(number)"
                    )
                    guard repair == nil else { break }
                    killed["\(call) \(accepting)", default: 0] += 1
                }
            }
        }
        // Marker, log, file and the new file are each put in place by a rename; each is synced, and so is the
        // directory.
        #expect(killed["renameat true", default: 0] >= CaseSize.of(1, full: 3), "\(killed)")
        #expect(killed["fsync true", default: 0] >= CaseSize.of(2, full: 6), "\(killed)")
        #expect(killed["pwrite64 true", default: 0] >= CaseSize.of(2, full: 20), "\(killed)")
    }

    // Catches a change that goes into the former file alone while the new one is written.
    @Test("what others stored during a repair is there after a kill at any write of the daemon")
    func killsAmongChanges() async throws {
        let store = try await DamagedStore(.rows)
        let keychain = try PrivateKeychain()
        var (killed, amongChanges) = (0, 0)
        for call in Strace.writes {
            for number in stride(from: 1, to: 2000, by: CaseSize.of(call == "pwrite64" ? 40 : 9, full: 2)) {
                try store.image.write(to: keychain.layout.dataDirectory)
                try await keychain.start()
                try keychain.unlock()
                let strace = try await Strace.attach(
                    to: keychain.processID,
                    Strace.killing(at: number, of: call)
                )
                let stored = Guarded<[String]>([])
                let (isDone, hasEnded) = (Guarded(false), Guarded(false))
                Thread.detachNewThread {
                    let client = RemoteKeychain(layout: keychain.layout, daemon: .none)
                    for number in 0..<200 where !isDone.withLock({ $0 }) {
                        let name = "meanwhile \(number)"
                        guard (try? keychain.add(name, name, through: client)) != nil else { break }
                        stored.withLock { $0.append(name) }
                    }
                    hasEnded.withLock { $0 = true }
                }
                let repair = try? keychain.client.repair(keychain.prompt(), accepting: true)
                isDone.withLock { $0 = true }
                keychain.stop(with: SIGKILL)
                strace.detach()
                try await Deadline.wait(for: "the thread") { hasEnded.withLock { $0 } ? true : nil }
                let names = stored.withLock { $0 }
                let image = try FileImage(of: keychain.layout.dataDirectory)
                try await OpenedStore.opening(image) { opened in
                    for name in names {
                        let found = try await OpenedImage.items(of: opened.engine, account: name)
                        #expect(found[name] == name, "killed at \(call) \(number)")
                    }
                    _ = try await opened.engine.keybag.repair(proof: opened.proof, accepting: true)
                    var items = try await OpenedImage.items(of: opened.engine)
                    for name in names {
                        #expect(items[name] == name, "repaired, killed at \(call) \(number)")
                    }
                    // One more may have been stored without an answer.
                    items = items.filter { !$0.key.hasPrefix("meanwhile") }
                    #expect(items == store.after, "killed at \(call) \(number)")
                    #expect(opened.engine.items.check().damaged == 0)
                }
                guard repair == nil else { break }
                killed += 1
                if !names.isEmpty { amongChanges += 1 }
            }
        }
        #expect(killed >= CaseSize.of(3, full: 20) && amongChanges > 0, "\(killed), \(amongChanges)")
    }

    @Test(
        "a daemon killed while it opens items with a damaged log leaves both files unchanged",
        arguments: [DamagedStore.Damage.log, .logBeyondRepair]
    )
    func opening(_ damage: DamagedStore.Damage) async throws {
        let store = try await DamagedStore(damage)
        let keychain = try PrivateKeychain()
        var killed = 0
        for call in Strace.writes {
            for number in stride(from: 1, to: 200, by: CaseSize.of(3, full: 1)) {
                try store.image.write(to: keychain.layout.dataDirectory)
                var isDone = false
                do {
                    try await keychain.start(through: Strace.wrapper(Strace.killing(at: number, of: call)))
                    try keychain.unlock()
                    #expect(throws: KeychainError.self) { try keychain.add("new", "new") }
                    #expect(try keychain.client.check().faults.isEmpty == false)
                    isDone = true
                } catch {}
                keychain.stop(with: isDone ? SIGTERM : SIGKILL)
                let image = try FileImage(of: keychain.layout.dataDirectory)
                for name in ["items.sqlite", "items.sqlite-wal"] {
                    #expect(image.files[name] == store.image.files[name], "\(name), \(call) \(number)")
                }
                guard !isDone else { break }
                killed += 1
            }
        }
        #expect(killed >= 2, "\(killed)")
    }

    // Catches a new file or marker that is renamed into place before its content is synced.
    @Test(
        "after lost or torn unsynced writes the repair is done or not, and done if it was acknowledged",
        arguments: DamagedStore.Damage.allCases
    )
    func powerLoss(_ damage: DamagedStore.Damage) async throws {
        let store = try await DamagedStore(damage)
        let keychain = try PrivateKeychain()
        try store.image.write(to: keychain.layout.dataDirectory)
        try await keychain.start()
        try keychain.unlock()
        let recording = try await Recording(of: keychain) {
            _ = try keychain.client.repair(keychain.prompt(), accepting: true)
        }
        keychain.stop(with: SIGKILL)
        #expect(recording.gaps == [])
        var outcomes = [0, 0]
        for moment in recording.moments(count: CaseSize.of(40, full: 2000)) {
            let faults = try await store.faults(in: moment.image, isAcknowledged: moment.answers > 0)
            #expect(faults.isEmpty, "\(moment.name)")
            outcomes[moment.image.files["items.sqlite.damaged-1"] == nil ? 0 : 1] += 1
        }
        // Both outcomes occurred.
        #expect(outcomes.allSatisfy { $0 > 0 }, "\(outcomes)")
    }
}
