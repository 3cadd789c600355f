import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Synchronization
import Testing
import TouchstoneTesting

@Suite("Concurrent clients", .serialized)
struct RaceTests {
    // Catches a look-up of the name and an insertion that are not in one transaction.
    @Test(
        "of a hundred processes that add the same name one succeeds and 99 get a duplicate error",
        .enabled(if: access(Programs.touchstone, X_OK) == 0, "touchstone is not built"),
        .timeLimit(.minutes(20))
    )
    func sameName() async throws {
        let keychain = try await PrivateKeychain.ready()
        // The daemon accepts 64 connections per user, so 48 processes run at a time.
        let add =
            "printf %s \"$1\" | \(Programs.touchstone) set same --require none 2>/dev/null; echo \"$? $1\""
        let script = "seq 100 | xargs -P 48 -I{} /bin/sh -c '\(add)' sh {}"
        let log = keychain.home.appending("race.log")
        let environment = [
            "TOUCHSTONE_HOME": keychain.home.path, "HOME": keychain.home.path, "PATH": "/usr/bin:/bin",
        ]
        let race = try await ChildProcess.start(
            "/bin/sh",
            ["-c", script],
            environment: environment,
            log: log
        )
        #expect(try await race.waitUntilEnd(atMost: .seconds(300)) == 0)
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        #expect(lines.count == 100)
        let winners = lines.filter { $0.hasPrefix("0 ") }
        #expect(winners.count == 1)
        #expect(lines.count { $0.hasPrefix("10 ") } == 99, "\(Set(lines.map { $0.prefix { $0 != " " } }))")
        // The stored secret is the successful process's.
        let read = keychain.home.appending("read.log")
        let get = try await ChildProcess.start(
            Programs.touchstone,
            ["get", "same"],
            environment: environment,
            log: read
        )
        #expect(try await get.waitUntilEnd() == 0)
        let value = try String(contentsOfFile: read, encoding: .utf8)
        #expect(winners.first == "0 \(value)")
    }

    // Catches an answer before the change is visible to others, and a reader that sees a change later rolled
    // back.
    @Test("concurrent clients see linearisable changes of each account", .timeLimit(.minutes(20)))
    func registers() async throws {
        let keychain = try await PrivateKeychain.ready()
        // A writer and a reader each; as many connections as the daemon accepts per user, minus one already
        // open.
        let accounts = (0..<CaseSize.of(8, full: 31)).map { "account \($0)" }
        let end = ContinuousClock.now + CaseSize.of(.zero, full: .seconds(30))
        let histories = accounts.map { _ in History() }
        let writers = Mutex(accounts.count)
        let readers = Mutex(accounts.count)
        for (index, account) in accounts.enumerated() {
            Thread.detachNewThread {
                write(account, keychain, histories[index], until: end)
                writers.withLock { $0 -= 1 }
            }
            Thread.detachNewThread {
                read(accounts, from: index, keychain, histories) { writers.withLock { $0 } > 0 }
                readers.withLock { $0 -= 1 }
            }
        }
        try await Deadline.wait(for: "all clients", atMost: .seconds(300)) {
            readers.withLock { $0 } == 0 ? true : nil
        }
        var reads = 0
        for (account, history) in zip(accounts, histories) {
            let faults = history.faults()
            #expect(faults.isEmpty, "\(account): \(faults.prefix(3))")
            reads += history.readCount
        }
        #expect(reads > 100, "\(reads) reads")
        // Control: reading the value before the last acknowledged one is a fault.
        let wrong = History()
        for value in ["1", "2"] { wrong.write(value) { true } }
        wrong.read { "1" }
        #expect(wrong.faults().count == 1)
    }

    private func write(
        _ account: String,
        _ keychain: PrivateKeychain,
        _ history: History,
        until end: ContinuousClock.Instant
    ) {
        let client = RemoteKeychain(layout: keychain.layout, daemon: .none)
        var number = 0
        var isThere = false
        while number < 60 || ContinuousClock.now < end {
            number += 1
            let value = "\(account) \(number)"
            if !isThere {
                history.write(value) { (try? keychain.add(account, value, through: client)) != nil }
                isThere = true
            } else if number % 5 == 0 {
                history.write(nil) { (try? keychain.delete(account, through: client)) != nil }
                isThere = false
            } else {
                history.write(value) { (try? keychain.update(account, value, through: client)) != nil }
            }
        }
    }

    private func read(
        _ accounts: [String],
        from first: Int,
        _ keychain: PrivateKeychain,
        _ histories: [History],
        while isWritten: () -> Bool
    ) {
        let client = RemoteKeychain(layout: keychain.layout, daemon: .none)
        var index = first
        while isWritten() || histories.reduce(0, { $0 + $1.readCount }) <= 100 {
            index = (index + 1) % accounts.count
            histories[index].read {
                do {
                    return try keychain.value(accounts[index], through: client)
                } catch let error as KeychainError where error == KeychainError(.itemNotFound) {
                    return nil
                } catch {
                    return "failed: \(error)"
                }
            }
        }
    }
}

/// The writes and reads of one account, with the order of their starts and ends.
private final class History: Sendable {
    private struct Write {
        let value: String?
        let start: Int
        let end: Int
    }

    private struct Read {
        let value: String?
        let start: Int
        let end: Int
    }

    private struct State {
        var time = 0
        var writes: [Write] = []
        var reads: [Read] = []
        var failures = 0
    }

    private let state = Mutex(State())

    var readCount: Int { state.withLock { $0.reads.count } }

    private func tick() -> Int {
        state.withLock { state in
            state.time += 1
            return state.time
        }
    }

    func write(_ value: String?, _ body: () -> Bool) {
        let start = tick()
        let isDone = body()
        let end = tick()
        state.withLock { state in
            if !isDone { state.failures += 1 }
            state.writes.append(Write(value: value, start: start, end: end))
        }
    }

    func read(_ body: () -> String?) {
        let start = tick()
        let value = body()
        let end = tick()
        state.withLock { $0.reads.append(Read(value: value, start: start, end: end)) }
    }

    /// The reads that no linear order explains.
    func faults() -> [String] {
        state.withLock { state in
            var faults = state.failures == 0 ? [] : ["\(state.failures) writes failed"]
            // The account does not exist at first.
            let writes = [Write(value: nil, start: 0, end: 0)] + state.writes
            var versions: [(read: Read, version: Int)] = []
            for read in state.reads {
                // The allowed range: from the last write that ended before the read began to the last that
                // began before it ended.
                let first = writes.lastIndex { $0.end < read.start } ?? 0
                let last = writes.lastIndex { $0.start < read.end } ?? 0
                guard let version = (first...last).first(where: { writes[$0].value == read.value }) else {
                    faults.append("read \(read.value ?? "nothing") between writes \(first) and \(last)")
                    continue
                }
                versions.append((read, version))
            }
            // A later read must not see an earlier state.
            var newest = 0
            var ended: [(end: Int, version: Int)] = []
            for (read, version) in versions.sorted(by: { $0.read.start < $1.read.start }) {
                newest = max(newest, ended.filter { $0.end < read.start }.map(\.version).max() ?? 0)
                ended.removeAll { $0.end < read.start }
                let last = writes.lastIndex { $0.start < read.end } ?? 0
                let isExplained = (newest...max(newest, last)).contains { writes[$0].value == read.value }
                if !isExplained { faults.append("\(read.value ?? "nothing") was read after something newer") }
                ended.append((read.end, version))
            }
            return faults
        }
    }
}
