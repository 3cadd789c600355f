import Foundation
import Glibc
import Testing
import TouchstoneTesting

@testable import Touchstone

/// strace(1) traces a whole process, so the test runs in a separate one.
@Suite(
    "A cached capability check under strace",
    .timeLimit(.minutes(20)),
    .enabled(if: geteuid() == 0 && access("/usr/bin/strace", X_OK) == 0, "needs root and strace")
)
struct WarmCheckTests {
    @Test("a cached capability check makes no system call")
    func noSystemCall() async {
        await #expect(processExitsWith: .success) {
            let world = try await World.withFinger()
            let log = world.keychain.home.appending("calls")
            let rounds = 20
            try await world.use {
                let question = ChangeWatch.Question(
                    demand: .strongBiometry,
                    origin: KeychainLink.current.origin
                )
                _ = try await Keychain.current.capability()
                try await Deadline.wait(for: "a kept answer") {
                    _ = try await Keychain.current.capability()
                    return ChangeWatch.of(world.keychain.client).answer(to: question)
                }
                let strace = try await ChildProcess.start(
                    "/usr/bin/strace",
                    ["-f", "-qq", "-e", "signal=none", "-o", log, "-p", "\(getpid())"]
                )
                try await Deadline.wait(for: "strace") {
                    let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task")
                    let isTraced = threads.allSatisfy { thread in
                        let status = try? String(
                            contentsOfFile: "/proc/self/task/\(thread)/status",
                            encoding: .utf8
                        )
                        return status.map { !$0.contains("TracerPid:\t0\n") } ?? true
                    }
                    return isTraced ? true : nil
                }
                for round in 0..<rounds {
                    _ = try await Keychain.current.capability()
                    _ = access("/touchstone-begin-\(round)", F_OK)
                    for _ in 0..<1000 { _ = try await Keychain.current.capability() }
                    _ = access("/touchstone-end-\(round)", F_OK)
                }
                strace.stop(with: SIGINT)
            }
            let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
            func index(_ mark: String) throws -> Int {
                try #require(lines.firstIndex { $0.contains("\"/touchstone-\(mark)\"") })
            }
            // A cached answer is valid for at most ten seconds, which may end in one round, and a change may
            // arrive in another.
            let quiet = try (0..<rounds).count { round in
                let (begin, end) = (try index("begin-\(round)"), try index("end-\(round)"))
                let thread = lines[begin].prefix { $0 != " " }
                return lines[(begin + 1)...end].filter { $0.hasPrefix(thread + " ") }.count == 1
                    && lines[end].hasPrefix(thread + " ")
            }
            #expect(quiet >= 1, "\(lines.suffix(50).joined(separator: "\n"))")
        }
    }
}
