import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// Features, row 42: the daemon learns digests of templates; templates, pictures and scores stay with fprintd and the broker.
@Suite(
    "Residues of templates",
    .serialized,
    .enabled(if: FingerScene.isPossible, Comment(rawValue: FingerScene.needs)),
    .enabled(if: TerminalPerson.getsGroup, "a set-gid program gets no group here: no-new-privileges")
)
struct TemplateResidueTests {
    /// The bytes of each piece: no two places have so many alike by chance.
    private static let length = 24

    /// Pieces of some octets, from all of their length, that are no runs of few values.
    ///
    /// Each begins with a byte that memory has few of, so that a search is fast.
    private static func pieces(of octets: [UInt8], _ count: Int) -> [[UInt8]] {
        let starts = (0..<max(0, octets.count - length)).filter { 0x81...0xFE ~= octets[$0] }
        let varied = starts.map { Array(octets[$0..<($0 + length)]) }.filter { Set($0).count >= length / 3 }
        let step = max(1, varied.count / count)
        return stride(from: 0, to: varied.count, by: step).prefix(count).map { varied[$0] }
    }

    private static func files(under directory: String) throws -> [String: Data] {
        var found: [String: Data] = [:]
        let all = FileManager.default.enumerator(atPath: directory)
        while let name = all?.nextObject() as? String {
            let path = "\(directory)/\(name)"
            var status = stat()
            // No sockets and no pipes, whose reader would wait.
            guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            found[path] = try Data(contentsOf: URL(fileURLWithPath: path))
        }
        return found
    }

    /// The running processes, by pid with their names, that `isMeant` says yes to.
    private static func processes(_ isMeant: (_ user: UInt32?, _ name: String) -> Bool) -> [Int32: String] {
        var found: [Int32: String] = [:]
        for entry in (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? [] {
            guard let process = Int32(entry),
                let status = try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)
            else { continue }
            func field(_ name: String) -> Substring? {
                status.split(separator: "\n").first { $0.hasPrefix("\(name):") }?.split(separator: "\t")
                    .dropFirst()
                    .first
            }
            let name = String(field("Name") ?? "")
            if isMeant(field("Uid").flatMap { UInt32($0) }, name) { found[process] = name }
        }
        return found
    }

    @Test(
        "no byte of a template or of a picture is in a process of the user or of the daemon, in a file or in a log"
    )
    func template() async throws {
        let scene = try await FingerScene()
        let touch = scene.finger.impression(40)
        try await scene.touchAlone(40)
        let stored = try Self.files(under: scene.sensor.bus.templateDirectory)
        let template = Array(try #require(stored.values.max { $0.count < $1.count }))
        // Behind the names in its first bytes, which are no secret.
        let pieces = Self.pieces(of: Array(template.dropFirst(256)), 8) + Self.pieces(of: touch.pixels, 4)
        #expect(pieces.count >= 12, "\(template.count) bytes of a template")

        // While a prompt waits for the finger: the command, its agent, the shell and the daemon run.
        let waiting = try await scene.alice.start("get finger --show")
        try await scene.alice.terminal.wait(for: "[Esc] Cancel")
        let accounts = [SystemModeMachine.Account.alice.uid, SystemModeMachine.Account.touchstone.uid]
        let processes = Self.processes { user, _ in user.map(accounts.contains) ?? false }
        // One that has ended, and waits for its parent, has no memory.
        let memories = processes.compactMap { process, name in
            (try? ProcessMemory(process)).map { (name, $0) }
        }.filter { $0.1.octetCount > 100_000 }
        let matchers = Self.processes { _, name in name == "fprintd" }.keys.compactMap {
            try? ProcessMemory($0)
        }
        for name in ["touchstone", "touchstoned", "touchstone-agent"] {
            // The kernel keeps 15 bytes of a name.
            let isThere = memories.contains { $0.0 == name.prefix(15) }
            #expect(isThere, "\(name): \(memories.map(\.0))")
        }
        try await scene.sensor.touch(scene.finger, impression: 41)
        #expect(try await scene.alice.end(of: waiting) == 0, "\(scene.alice.terminal.text)")

        for (name, memory) in memories {
            for piece in pieces {
                let places = memory.places(of: piece)
                #expect(places.isEmpty, "\(name): \(places)")
            }
        }
        var written = try Self.files(under: scene.machine.directory.path)
        for place in ["/var/lib/touchstone", "/run/touchstone"] {
            written.merge(try Self.files(under: scene.machine.outside(place))) { $1 }
        }
        #expect(written.keys.contains { $0.hasSuffix("items.sqlite") } && written.count > 5)
        for (path, octets) in written {
            for piece in pieces { #expect(octets.range(of: Data(piece)) == nil, "\(path)") }
        }

        // Control: the pieces are found where templates are.
        let isFound = matchers.contains { memory in pieces.contains { !memory.places(of: $0).isEmpty } }
        #expect(isFound, "fprintd has none of them, in \(matchers.count) processes")
        await scene.sensor.bus.stop()
    }
}
