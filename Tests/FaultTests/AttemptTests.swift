import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Authentication attempts that end in a crash", .serialized)
struct AttemptTests {
    // Catches attempts that are counted after the verdict or not durably, which gives a free attempt per
    // kill.
    @Test("killing the daemon at each verdict allows four attempts and no more")
    func killedAtVerdict() async throws {
        let keychain = try await PrivateKeychain.ready()
        try keychain.client.lock()
        var tries = 0
        var refusal: KeychainError?
        for round in 1...8 {
            // The second prompt says that the passcode was wrong; then the daemon is killed.
            try keychain.tellPerson([.types("wrong passcode \(round)"), .killsDaemon])
            do {
                try keychain.unlock()
            } catch {
                refusal = error as? KeychainError
            }
            // The fourth verdict is followed by a delay instead of a prompt.
            if case .wait? = refusal?.remedy {
                tries += 1
            } else {
                try await Deadline.wait(for: "the end of the daemon") { keychain.isRunning ? nil : true }
                tries += 1
                try await keychain.start()
            }
            let status = try keychain.client.status().authentication
            #expect(status.passcodeFailures == tries, "after try \(round)")
            if status.passcodeDelay > 0 { break }
        }
        #expect(tries == 4)
        let status = try keychain.client.status()
        #expect(status.authentication.passcodeDelay > 0 && status.keybag == .locked)
        // A restart does not shorten the delay, and not even the right passcode is tried during it.
        keychain.stop(with: SIGKILL)
        try await keychain.start()
        try keychain.tellPerson([])
        #expect(throws: KeychainError.self) { try keychain.unlock() }
        #expect(try keychain.client.status().keybag == .locked)
        #expect(try keychain.client.status().authentication.passcodeFailures == 4)
    }

    /// A command prefix that shifts a program's wall clock by `days`.
    private static func wallClock(_ days: Int) throws -> [String] {
        let directories = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
        let libraries = directories.map { "/usr/lib/\($0)/faketime/libfaketimeMT.so.1" }
        let library = try #require(libraries.first { access($0, R_OK) == 0 })
        return [
            "/usr/bin/env", "LD_PRELOAD=\(library)", "FAKETIME=\(days > 0 ? "+" : "")\(days)d",
            "FAKETIME_DONT_FAKE_MONOTONIC=1",
        ]
    }

    /// A command prefix that gives a program another boot ID and boot time, in its own mount and time
    /// namespaces.
    private static func boot(_ identifier: String) -> [String] {
        let mount = "mount --bind '\(identifier)' /proc/sys/kernel/random/boot_id"
        return [
            "/usr/bin/unshare", "--mount", "--time", "--boottime", "1000000", "--propagation", "private",
            "/bin/sh", "-ec", mount + "; exec \"$@\"", "sh",
        ]
    }

    // Catches delays measured by the wall clock, or forgotten or shortened by a reboot.
    @Test(
        "a wall clock moved by 30 days shortens no delay, and a reboot restarts it",
        .enabled(
            if: FullDiskTests.canMount && access("/usr/bin/faketime", X_OK) == 0,
            "needs root and faketime"
        )
    )
    func clocks() async throws {
        let keychain = try await PrivateKeychain.ready()
        try keychain.client.lock()
        try keychain.tellPerson((1...4).map { .types("wrong passcode \($0)") } + [.cancels])
        let start = ContinuousClock.now
        #expect(throws: KeychainError.self) { try keychain.unlock() }
        func delay() throws -> Int64 {
            let status = try keychain.client.status()
            #expect(status.keybag != .unlocked && status.authentication.passcodeFailures == 4)
            return status.authentication.passcodeDelay
        }
        for days in [-30, 30] {
            let wrapper = try Self.wallClock(days)
            let date = keychain.home.appending("date \(days)")
            let shown = try await ChildProcess.start(
                wrapper[0],
                wrapper.dropFirst() + ["/bin/date", "+%s"],
                log: date
            )
            _ = try await shown.waitUntilEnd()
            let text = try String(contentsOfFile: date, encoding: .utf8).filter(\.isNumber)
            let shift = (Double(text) ?? 0) - Date().timeIntervalSince1970
            #expect(abs(shift - Double(days) * 86_400) < 60)

            keychain.stop(with: SIGTERM)
            try await keychain.start(through: wrapper)
            let passed = start.duration(to: .now).components.seconds
            #expect((60 - passed - 1...60).contains(try delay()), "\(days) days")
            #expect(throws: KeychainError.self) { try keychain.unlock() }
        }
        let identifier = keychain.home.appending("boot")
        for number in 1...2 {
            try "0000000\(number)-0000-4000-8000-000000000000\n"
                .write(toFile: identifier, atomically: false, encoding: .utf8)
            keychain.stop(with: SIGKILL)
            let restart = ContinuousClock.now
            try await keychain.start(through: Self.boot(identifier))
            let passed = restart.duration(to: .now).components.seconds
            #expect((60 - passed - 1...60).contains(try delay()), "boot \(number)")
            #expect(throws: KeychainError.self) { try keychain.unlock() }
        }
    }

    // Catches a passcode tried although its count did not reach the disk, which gives a free attempt.
    @Test(
        "no verdict is given before the count is durable, and afterwards the count stays",
        .enabled(if: Strace.isThere, "needs root and strace")
    )
    func aroundTheCount() async throws {
        let keychain = try await PrivateKeychain.ready()
        keychain.stop(with: SIGKILL)
        let former = try FileImage(of: keychain.layout.dataDirectory)
        let faults = [
            ("pwrite64", "signal=KILL"), ("fdatasync", "signal=KILL"), ("pwrite64", "error=EIO"),
            ("fdatasync", "error=EIO"), ("pwrite64", "error=EROFS"),
        ]
        for (call, fault) in faults {
            try former.write(to: keychain.layout.dataDirectory)
            try await keychain.start()
            let strace = try await Strace.attach(
                to: keychain.processID,
                Strace.injecting(fault, into: call, when: "1+")
            )
            // If it were tried nevertheless, the right passcode would open the keychain.
            try keychain.tellPerson([.types(PrivateKeychain.passcode), .cancels])
            #expect(throws: KeychainError.self, "\(call): \(fault)") { try keychain.unlock() }
            if fault == "signal=KILL" {
                try await Deadline.wait(for: "the end of the daemon") { keychain.isRunning ? nil : true }
            } else {
                #expect(try keychain.client.status().keybag == .locked, "\(call): \(fault)")
            }
            keychain.stop(with: SIGKILL)
            strace.detach()
            let found = try await OpenedImage(try FileImage(of: keychain.layout.dataDirectory))
            #expect(found.attempts != nil && found.opening.count == 1, "\(call): \(fault)")
        }
    }
}
