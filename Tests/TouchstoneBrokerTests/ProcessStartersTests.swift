import Foundation
import Glibc
import KeychainModel
import SystemFacts
import Testing
import TouchstoneTesting

/// The cells: no name of its own, a chosen one, one that would be read as others; none, some and too many parents; a parent that has
/// ended; another process of the same number; a process that has ended.
@Suite("What started a process", .timeLimit(.minutes(2)))
struct ProcessStartersTests {
    /// Runs a script that writes a pid to `$1`; the shell keeps running.
    private func start(_ script: String) async throws -> (shell: ChildProcess, pid: Int32, start: UInt64) {
        let directory = try TemporaryDirectory()
        let file = directory.appending("pid")
        let shell = try await ChildProcess.start("/bin/sh", ["-c", script, "sh", file])
        let pid = try await Deadline.wait(for: "the pid") {
            (try? String(contentsOfFile: file, encoding: .utf8)).flatMap { text in
                text.hasSuffix("\n") ? Int32(text.dropLast()) : nil
            }
        }
        let start = try await Deadline.wait(for: "the process") { ProcessStat(of: pid)?.start }
        return (shell, pid, start)
    }

    /// The shell as it is named: its file, and the name of the link by which it was started.
    private var shell: String {
        let file = URL(fileURLWithPath: "/bin/sh").resolvingSymlinksInPath().lastPathComponent
        return file.hasPrefix("sh") ? file : "\(file) (sh)"
    }

    @Test("the nearest comes first, each by its file and the name that it has now")
    func chain() async throws {
        let script = """
            /bin/sh -c 'printf agent > /proc/$$/comm; sleep 600 & echo $! > $1.new; mv $1.new $1; wait; true' sh $1; true
            """
        let (child, pid, start) = try await start(script)
        let names = ProcessStarters.text(of: pid, startedAt: start).components(separatedBy: ", ")
        let file = URL(fileURLWithPath: "/bin/sh").resolvingSymlinksInPath().lastPathComponent
        #expect(names.count >= 2 && names.count <= 4, "\(names)")
        #expect(names.first == "\(file) (agent)" && names.dropFirst().first == shell, "\(names)")
        withExtendedLifetime(child) {}
    }

    @Test("a name ends no other, and is shown as it is nowhere else")
    func hostile() async throws {
        let script = """
            printf 'a, b) \\033[1m' > /proc/$$/comm; sleep 600 & echo $! > $1.new; mv $1.new $1; wait; true
            """
        let (child, pid, start) = try await start(script)
        let text = ProcessStarters.text(of: pid, startedAt: start)
        let file = URL(fileURLWithPath: "/bin/sh").resolvingSymlinksInPath().lastPathComponent
        #expect(text.hasPrefix("\(file) (a??b????1m)"), "\(text)")
        withExtendedLifetime(child) {}
    }

    @Test("at most four are named")
    func long() async throws {
        var script = "sleep 600 & echo $! > $1.new; mv $1.new $1; wait; true"
        for _ in 0..<6 {
            let quoted = script.replacingOccurrences(of: "'", with: "'\\''")
            script = "/bin/sh -c '\(quoted)' sh $1; true"
        }
        let (child, pid, start) = try await start(script)
        #expect(
            ProcessStarters.text(of: pid, startedAt: start)
                == Array(repeating: shell, count: 4).joined(separator: ", ")
        )
        withExtendedLifetime(child) {}
    }

    @Test("a process whose parent has ended names none of those before it")
    func orphan() async throws {
        let script =
            "/bin/sh -c 'printf agent > /proc/$$/comm; sleep 600 & echo $! > $1.new; mv $1.new $1' sh $1; sleep 600"
        let (child, pid, start) = try await start(script)
        try await Deadline.wait(for: "the end of the parent") {
            ProcessStarters.text(of: pid, startedAt: start).contains("agent") ? nil : true
        }
        #expect(!ProcessStarters.text(of: pid, startedAt: start).contains(shell))
        kill(pid, SIGKILL)
        withExtendedLifetime(child) {}
    }

    @Test("nothing is told of another process of this number, nor of one that has ended")
    func other() async throws {
        let (child, pid, start) = try await start("sleep 600 & echo $! > $1.new; mv $1.new $1; wait; true")
        #expect(!ProcessStarters.text(of: pid, startedAt: start).isEmpty)
        #expect(ProcessStarters.text(of: pid, startedAt: start + 1).isEmpty)
        kill(pid, SIGKILL)
        child.stop()
        try await Deadline.wait(for: "the end") { ProcessStat(of: pid) == nil ? true : nil }
        #expect(ProcessStarters.text(of: pid, startedAt: start).isEmpty)
    }
}
