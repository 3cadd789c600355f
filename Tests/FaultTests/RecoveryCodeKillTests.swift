import Foundation
import Glibc
import KeychainClient
import KeychainEngine
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@Suite(
    "A crash or a failing disk while the recovery code is replaced",
    .serialized,
    .enabled(if: Strace.isThere, "needs root and strace"),
    .timeLimit(.minutes(60))
)
struct RecoveryCodeKillTests {
    /// The recovery code that the person noted last.
    private static func noted(_ keychain: PrivateKeychain) throws -> String {
        try String(contentsOfFile: keychain.home.appending("code"), encoding: .utf8)
    }

    private static func note(_ code: String, _ keychain: PrivateKeychain) throws {
        try code.write(toFile: keychain.home.appending("code"), atomically: true, encoding: .utf8)
    }

    /// Which of the codes opens the keybag that is on the disk now.
    private static func opening(_ codes: [String], _ keychain: PrivateKeychain) async throws -> Set<String> {
        let home = try TemporaryDirectory()
        let path = home.appending("data")
        try FileImage(of: keychain.layout.dataDirectory).write(to: path)
        let engine = try OpenedImage.engine(StoreDirectory(path: path))
        var opening: Set<String> = []
        for code in codes {
            let typed = SecretBytes(copying: Array(code.utf8))
            if try await engine.keybag.accepts(recoveryCode: typed) { opening.insert(code) }
        }
        await engine.close()
        return opening
    }

    /// Starts the daemon, which completes an interrupted replacement at the unlock, and ends it.
    private static func complete(_ keychain: PrivateKeychain) async throws {
        try await keychain.start()
        try keychain.tellPerson([])
        try keychain.unlock()
        keychain.stop(with: SIGTERM)
    }

    // Catches a keybag that is changed in place, and a copy that the former code still opens after an acknowledgement.
    @Test("after a kill at any write the passcode opens it with all items, and one of both codes does")
    func kills() async throws {
        let keychain = try await PrivateKeychain.withFormerItems()
        keychain.stop(with: SIGKILL)
        let former = try FileImage(of: keychain.layout.dataDirectory)
        let code = try Self.noted(keychain)
        var outcomes: [Bool: Int] = [:]
        for call in CaseSize.of(["fsync", "renameat"], full: Strace.writes) {
            for number in 1..<40 {
                try former.write(to: keychain.layout.dataDirectory)
                try Self.note(code, keychain)
                try await keychain.start()
                let strace = try await Strace.attach(
                    to: keychain.processID,
                    Strace.killing(at: number, of: call)
                )
                try keychain.tellPerson([])
                let isDone = (try? keychain.client.changeRecoveryCode(keychain.prompt())) != nil
                keychain.stop(with: SIGKILL)
                strace.detach()
                let codes = [code, try Self.noted(keychain)]
                let moment = "\(call) \(number)"
                let found = try await Self.opening(codes, keychain)
                #expect(!found.isEmpty, "\(moment)")
                if isDone { #expect(found == [codes[1]] && codes[1] != code, "\(moment)") }
                let image = try await OpenedImage(FileImage(of: keychain.layout.dataDirectory))
                #expect(image.faults(Change.model(afterAnswers: 0)).isEmpty, "\(moment)")
                try await Self.complete(keychain)
                let expected = found.contains(codes[1]) ? codes[1] : code
                #expect(try await Self.opening(codes, keychain) == [expected], "\(moment), after an unlock")
                guard !isDone else { break }
                outcomes[expected == code, default: 0] += 1
            }
        }
        #expect(outcomes.values.reduce(0, +) >= 4 && outcomes.count == 2, "\(outcomes)")
    }

    // Catches an acknowledgement with a copy that could not be replaced, which the former code opens.
    @Test(
        "on a disk that fails at any call one of both codes opens it; after an acknowledgement the new one alone",
        .enabled(if: access("/usr/bin/swtpm", X_OK) == 0, "needs swtpm"),
        arguments: [false, true]
    )
    func failures(hasChip: Bool) async throws {
        let chip: SoftwareTPM? = try await hasChip ? SoftwareTPM.start() : nil
        let keychain = try await PrivateKeychain.ready(tpm: chip?.tcti)
        try keychain.add("kept", "kept")
        var present = try Self.noted(keychain)
        var (failed, changed) = (0, 0)
        for failure in FailingReplacementTests.Failure.all {
            try keychain.tellPerson([])
            let strace = try await Strace.attach(to: keychain.processID, failure.options)
            let isDone = (try? keychain.client.changeRecoveryCode(keychain.prompt())) != nil
            strace.detach()
            let codes = [present, try Self.noted(keychain)]
            let found = try await Self.opening(codes, keychain)
            #expect(!found.isEmpty, "\(failure)")
            if isDone { #expect(found == [codes[1]] && codes[1] != present, "\(failure)") }
            #expect(try keychain.value("kept") == "kept", "\(failure)")
            keychain.stop(with: SIGTERM)
            try await Self.complete(keychain)
            let later = try await Self.opening(codes, keychain)
            #expect(later.count == 1, "\(failure), in the next run")
            if isDone { #expect(later == found, "\(failure), in the next run") }
            if isDone { changed += 1 } else { failed += 1 }
            present = later.first ?? present
            try Self.note(present, keychain)
            try await keychain.start()
            try keychain.unlock()
            #expect(try keychain.value("kept") == "kept", "\(failure)")
        }
        #expect(failed > 0 && changed > 0, "\(failed), \(changed)")
        if let chip { #expect(try await chip.indices().count <= 4) }
    }
}
