import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Attempts that end in a crash (K2, L01)", .serialized)
struct AttemptTests {
    // A daemon that counts after the verdict, or not durably, gives a try for each kill.
    @Test("who kills the daemon at each verdict has four tries and no more")
    func killedAtVerdict() async throws {
        let keychain = try await TemporaryKeychain.ready()
        try keychain.client.lock()
        var tries = 0
        var refusal: KeychainError?
        for round in 1...8 {
            // The second box says that the passcode was wrong: then the daemon dies.
            try keychain.tellPerson([.types("wrong passcode \(round)"), .killsDaemon])
            do {
                try keychain.unlock()
            } catch {
                refusal = error as? KeychainError
            }
            // The fourth verdict is not followed by a box: there is a delay.
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
        // A restart does not shorten the delay, and even the right passcode is not tried during it.
        keychain.stop(with: SIGKILL)
        try await keychain.start()
        try keychain.tellPerson([])
        #expect(throws: KeychainError.self) { try keychain.unlock() }
        #expect(try keychain.client.status().keybag == .locked)
        #expect(try keychain.client.status().authentication.passcodeFailures == 4)
    }

    // A daemon that tries the passcode although the count did not reach the disk gives a try for nothing.
    @Test(
        "killed or failing before the count is durable, no verdict is given; after it, the count stays",
        .enabled(if: Strace.isThere, "needs root and strace")
    )
    func aroundTheCount() async throws {
        let keychain = try await TemporaryKeychain.ready()
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
            // Were it tried all the same, the right passcode would open the keychain.
            try keychain.tellPerson([.types(TemporaryKeychain.passcode), .cancels])
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
