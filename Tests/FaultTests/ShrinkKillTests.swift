import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite(
    "A crash or power loss while the items file is being shrunk",
    .serialized,
    .enabled(if: Strace.isThere, "needs root and strace"),
    .timeLimit(.minutes(CaseSize.of(20, full: 90)))
)
struct ShrinkKillTests {
    private static let large = String(repeating: "x", count: 700_000)

    /// Former items in a file that is mostly free; no daemon runs.
    private func prepared() async throws -> FileImage {
        let keychain = try await PrivateKeychain.withFormerItems()
        for number in 0..<2 { try keychain.add("large \(number)", Self.large) }
        for number in 0..<2 { try keychain.delete("large \(number)") }
        keychain.stop(with: SIGTERM)
        return try FileImage(of: keychain.layout.dataDirectory)
    }

    private var model: Model {
        var model = Model()
        for change in Change.former { model.answered(change.account, is: change.value) }
        model.answered("last", is: "added")
        return model
    }

    /// A daemon with a recent change, so that it waits before it begins to shrink.
    private func started(_ image: FileImage) async throws -> PrivateKeychain {
        let keychain = try PrivateKeychain()
        try image.write(to: keychain.layout.dataDirectory)
        try await keychain.start()
        try keychain.unlock()
        try keychain.add("last", "added")
        return keychain
    }

    /// Waits for the end of the daemon or of the shrinking, without requests, which would interrupt it.
    private func waitForEnd(_ keychain: PrivateKeychain) async throws -> Bool {
        try await Deadline.wait(for: "a small file, or the daemon's end") {
            guard keychain.isRunning else { return true }
            let files = try? FileImage(of: keychain.layout.dataDirectory).files
            guard let files, files["items.sqlite"]?.count ?? .max < 100_000 else { return nil }
            return files["items.sqlite-wal"]?.isEmpty ?? true ? false : nil
        }
    }

    /// Whether the daemon was killed, and the faults of the files afterwards.
    private func killed(_ image: FileImage, at number: Int, of call: String) async throws -> (Bool, [String])
    {
        let keychain = try await started(image)
        let strace = try await Strace.attach(to: keychain.processID, Strace.killing(at: number, of: call))
        let wasKilled = try await waitForEnd(keychain)
        keychain.stop(with: SIGKILL)
        strace.detach()
        let left = try FileImage(of: keychain.layout.dataDirectory)
        let opened = try await OpenedImage(left)
        return (wasKilled, opened.faults(model))
    }

    // Catches an old file removed before the new one is complete, and an old log that outlives its file.
    @Test("after a kill at any write all items are present, in the old or the new file")
    func kills() async throws {
        let image = try await prepared()
        #expect(image.files["items.sqlite"]?.count ?? 0 > 1_400_000)
        var points: [(String, Int)] = []
        for call in ["renameat", "unlinkat", "fsync", "fdatasync", "ftruncate"] {
            for number in 1...CaseSize.of(1, full: 6) { points.append((call, number)) }
        }
        for number in stride(from: 1, to: CaseSize.of(20, full: 90), by: CaseSize.of(9, full: 1)) {
            points.append(("pwrite64", number))
        }
        // Each one mostly waits.
        let killed = try await withThrowingTaskGroup(of: Bool.self) { group in
            var killed = 0
            for (index, (call, number)) in points.enumerated() {
                if index >= 8, try await group.next() == true { killed += 1 }
                group.addTask {
                    let (wasKilled, faults) = try await self.killed(image, at: number, of: call)
                    #expect(faults.isEmpty, "killed at \(call) \(number)")
                    return wasKilled
                }
            }
            for try await wasKilled in group where wasKilled { killed += 1 }
            return killed
        }
        #expect(killed >= CaseSize.of(5, full: 30), "\(killed) of \(points.count)")
    }

    @Test("after lost or torn unsynced writes all items are present")
    func powerLoss() async throws {
        let keychain = try await started(try await prepared())
        let recording = try await Recording(of: keychain) {
            let wasKilled = try await waitForEnd(keychain)
            #expect(!wasKilled)
            // The daemon opens the new file before it answers.
            _ = try keychain.value("last")
        }
        keychain.stop(with: SIGKILL)
        #expect(recording.gaps == [])
        var sizes: Set<Bool> = []
        for moment in recording.moments(count: CaseSize.of(40, full: 1000)) {
            let faults = try await OpenedImage(moment.image).faults(model)
            #expect(faults.isEmpty, "\(moment.name)")
            sizes.insert(moment.image.files["items.sqlite"]?.count ?? 0 < 100_000)
        }
        #expect(sizes.count == 2, "both sides were seen")
    }
}
