import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("A full or read-only disk", .serialized)
struct FullDiskTests {
    /// Whether the test can run processes in their own mount namespace.
    static var canMount: Bool { geteuid() == 0 && access("/usr/bin/unshare", X_OK) == 0 }

    /// A command prefix that runs the daemon in its own mount namespace.
    private static func mounting(_ commands: String) -> [String] {
        [
            "/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-ec",
            commands + "; exec \"$@\"", "sh",
        ]
    }

    // Catches a log that grows until nothing can be deleted, and an attempt count that needs unavailable
    // space.
    @Test(
        "on a full disk adds fail, reads and deletes work, and attempts are counted",
        .enabled(if: canMount, "needs root and unshare")
    )
    func full() async throws {
        let keychain = try PrivateKeychain()
        let data = keychain.layout.dataDirectory
        try FileImage().write(to: data)
        let small = Self.mounting("mount -t tmpfs -o size=256k,mode=700 small '\(data)'")
        try await keychain.start(through: small)
        try keychain.client.setUp(keychain.prompt())
        let value = String(repeating: "x", count: 8000)
        var stored = 0
        var refusal: KeychainError?
        while refusal == nil, stored < 100 {
            do {
                try keychain.add("item \(stored)", value)
                stored += 1
            } catch let error as KeychainError {
                refusal = error
            }
        }
        #expect(refusal == KeychainError(.diskFull))
        #expect((5..<40).contains(stored), "\(stored) items were stored")
        for number in 0..<stored { #expect(try keychain.value("item \(number)") == value) }
        // Repeatedly: failures leave nothing behind that prevents later work.
        for _ in 0..<3 { #expect(throws: KeychainError(.diskFull)) { try keychain.add("more", value) } }
        let told = try await keychain.expectLogged("event=\"requestFailed\"")
        // Logged once a minute, not once per call.
        #expect((1...3).contains(told.count))
        let causes = ["system ENOSPC", "sqlite 13"]
        #expect(
            told.allSatisfy { line in causes.contains { line.contains("detail=\"addItem -34 \($0)\"") } },
            "\(told)"
        )

        try keychain.client.lock()
        try keychain.tellPerson([.types("not the passcode"), .cancels])
        #expect(throws: KeychainError.self) { try keychain.unlock() }
        #expect(try keychain.client.status().authentication.passcodeFailures == 1)
        try keychain.unlock()
        #expect(try keychain.client.status().authentication.passcodeFailures == 0)

        for number in 0..<stored - 1 { try keychain.delete("item \(number)") }
        #expect(try keychain.all().keys.sorted() == ["item \(stored - 1)"])
        let report = try keychain.client.check()
        #expect(report.items == 1 && report.damaged == 0 && report.isSetAuthentic)
        // The deletion has freed space.
        try keychain.add("again", value)
        #expect(try keychain.value("again") == value)
    }

    // Catches an unlock that proceeds although the count could not be saved.
    @Test(
        "read-only files cannot be unlocked, because no passcode is tried without a durable count",
        .enabled(if: canMount, "needs root and unshare")
    )
    func readOnly() async throws {
        let keychain = try await PrivateKeychain.withFormerItems()
        keychain.stop(with: SIGTERM)
        let data = keychain.layout.dataDirectory
        let before = try FileImage(of: data)
        let locked = Self.mounting("mount --bind '\(data)' '\(data)'; mount -o remount,bind,ro '\(data)'")
        try await keychain.start(through: locked)
        #expect(try keychain.client.status().keybag == .locked)
        let error = #expect(throws: KeychainError.self) { try keychain.unlock() }
        #expect(
            error.map { [.readOnly, .io, .authFailed].contains($0.status) } == true,
            "\(String(describing: error))"
        )
        #expect(try keychain.client.status().keybag == .locked)
        #expect(throws: KeychainError.self) { try keychain.value("former 0") }
        keychain.stop(with: SIGTERM)
        #expect(try FileImage(of: data).differences(from: before) == [])
        // No item is lost.
        try await keychain.start()
        try keychain.unlock()
        #expect(try keychain.all().count == Change.former.count)
    }
}
