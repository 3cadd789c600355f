import Foundation
import Glibc
import KeychainEngine
import KeychainModel
import Testing

@Suite("What was acknowledged is on the disk, at a small price", .serialized)
struct DurabilityTests {
    static let canTrace = FileManager.default.isExecutableFile(atPath: "/usr/bin/strace")
    static let canMount = geteuid() == 0 && FileManager.default.isExecutableFile(atPath: "/usr/bin/mount")

    @Test(
        "each change of one client costs one fdatasync and at most 24 KB",
        .enabled(if: canTrace),
        .timeLimit(.minutes(2))
    )
    func price() async throws {
        let keychain = TestKeychain()
        let (engine, _) = try await keychain.setUp()
        // Fills the pages as they are in use, and starts the log.
        for index in 0..<200 { try await engine.add("filler \(index)") }
        let count = 20
        let trace = try Trace(of: keychain.path)
        guard let trace else { return }
        for index in 0..<count { try await engine.add("account \(index)") }
        for index in 0..<count { _ = try await engine.update("account \(index)", secret: "new") }
        for index in 0..<count { try await engine.delete("account \(index)") }
        let (octets, syncs) = try trace.finish()
        #expect(syncs == 3 * count)
        #expect(octets <= 3 * count * 24 * 1024)
        #expect(octets > 3 * count * 1024, "the trace saw the writes")
    }

    @Test("a full disk refuses adds cleanly; reading, deleting and counting go on", .enabled(if: canMount))
    func fullDisk() async throws {
        let keychain = TestKeychain()
        _ = unsafe mkdir(keychain.path, 0o700)
        let mount = try run("/usr/bin/mount", ["-t", "tmpfs", "-o", "size=256k,mode=0700", "tmpfs", keychain.path])
        guard mount == 0 else { return }
        defer { _ = try? run("/usr/bin/umount", ["-l", keychain.path]) }
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
        // The slots have their blocks already.
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

    private func run(_ program: String, _ arguments: [String]) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }
}

/// Counts what this process writes below a directory, as strace sees it.
private struct Trace {
    private let process = Process()
    private let output: String
    private let directory: String

    /// Nil where this process may not be traced.
    init?(of directory: String) throws {
        self.directory = directory
        output = directory + "-trace"
        process.executableURL = URL(fileURLWithPath: "/usr/bin/strace")
        process.arguments = [
            "-f", "-y", "-e", "trace=fdatasync,fsync,pwrite64,write", "-o", output, "-p", "\(getpid())",
        ]
        let messages = Pipe()
        process.standardError = messages
        try process.run()
        // strace says when it is there, or why it is not.
        var text = ""
        while !text.contains("attached") {
            let data = messages.fileHandleForReading.availableData
            guard !data.isEmpty else { return nil }
            text += String(decoding: data, as: UTF8.self)
        }
    }

    func finish() throws -> (octets: Int, syncs: Int) {
        process.interrupt()
        process.waitUntilExit()
        defer { unsafe unlink(output) }
        let text = String(decoding: try Data(contentsOf: URL(fileURLWithPath: output)), as: UTF8.self)
        var octets = 0
        var syncs = 0
        for line in text.split(separator: "\n") where line.contains("<\(directory)/") {
            if line.contains("sync(") { syncs += 1 }
            guard line.contains("write"), let result = line.split(separator: "=").last else { continue }
            octets += Int(result.trimmingCharacters(in: .whitespaces)) ?? 0
        }
        return (octets, syncs)
    }
}
