import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("A failing disk", .serialized, .enabled(if: Strace.isThere, "needs root and strace"))
struct FailingDiskTests {
    /// One kind of failure, injected while strace is attached to the daemon.
    struct Failure: CustomStringConvertible, Sendable {
        let call: String
        let error: String
        let when: String

        var description: String { "\(call) \(when): \(error)" }
        var options: [String] { Strace.injecting("error=\(error)", into: call, when: when) }

        static let all: [Failure] = ["EIO", "ENOSPC", "EDQUOT", "EINTR"].flatMap { error in
            let some = [1, 2, 5, 11, 18, 26, 35]
            let writes = (CaseSize.of(some, full: Array(1...48)).map { "\($0)" } + ["1+"]).map {
                Failure(call: "pwrite64", error: error, when: $0)
            }
            let flushes = ((1...CaseSize.of(3, full: 8)).map { "\($0)" } + ["1+"]).map {
                Failure(call: "fdatasync", error: error, when: $0)
            }
            // A write interrupted for ever is not a failing disk: the call is correctly retried.
            return (writes + flushes).filter {
                !(error == "EINTR" && $0.call == "pwrite64" && $0.when == "1+")
            }
        }
    }

    // Catches a commit acknowledged although its flush failed, and a daemon that then trusts its memory.
    @Test(
        "a change fails or is durable, and what is read after it stays so",
        .timeLimit(.minutes(20))
    )
    func changes() async throws {
        let keychain = try await PrivateKeychain.withFormerItems()
        var model = Model()
        for change in Change.former { model.answered(change.account, is: change.value) }
        var failed = 0
        for (round, failure) in Failure.all.enumerated() {
            let strace = try await Strace.attach(to: keychain.processID, failure.options)
            let changes = [
                Change(kind: .add, account: "item \(round)", value: "first"),
                Change(kind: .update, account: "former 0", value: "round \(round)"),
                Change(kind: .add, account: "other \(round)", value: "other"),
                Change(kind: .delete, account: "item \(round - 1)", value: nil),
            ]
            for change in changes {
                model.before(change.account, becomes: change.value)
                do {
                    try keychain.apply(change)
                    model.answered(change.account, is: change.value)
                } catch let error as KeychainError {
                    if error.status == .itemNotFound {
                        model.answered(change.account, is: nil)
                    } else {
                        let expected: [Status] = [.io, .diskFull]
                        #expect(expected.contains(error.status), "\(failure): \(error)")
                        failed += 1
                    }
                }
            }
            strace.detach()
            let live = try keychain.all()
            #expect(model.faults(in: live).isEmpty, "\(failure), then read")
            for account in model.open.keys { model.answered(account, is: live[account]) }
            // The daemon keeps working.
            try keychain.add("after \(round)", "after")
            model.answered("after \(round)", is: "after")
            // No writes are pending: the same as a crash and a restart.
            let image = try FileImage(of: keychain.layout.dataDirectory)
            let faults = try await OpenedImage(image).faults(model)
            #expect(faults.isEmpty, "\(failure), then started anew")
        }
        // In the full run, most call numbers are beyond the last write.
        #expect(failed >= Failure.all.count / CaseSize.of(2, full: 5), "only \(failed) changes failed")
        let report = try keychain.client.check()
        #expect(report.damaged == 0 && report.isSetAuthentic)
    }

    // Catches a passcode change that ignores a failed write.
    @Test("a passcode change is all or nothing on a failing disk")
    func passcodeChange() async throws {
        let keychain = try await PrivateKeychain.withFormerItems()
        keychain.stop(with: SIGKILL)
        let former = try FileImage(of: keychain.layout.dataDirectory)
        let new = "harbour velvet copper lantern sparrow"
        for call in ["fsync", "renameat", "pwrite64"] {
            for when in ["1", "2"] {
                try former.write(to: keychain.layout.dataDirectory)
                try await keychain.start()
                try keychain.tellPerson([])
                try keychain.unlock()
                let failure = Failure(call: call, error: "EIO", when: when)
                let strace = try await Strace.attach(to: keychain.processID, failure.options)
                try keychain.tellPerson([.types(PrivateKeychain.passcode), .types(new)])
                var isChanged = true
                do {
                    try keychain.client.changePasscode(keychain.prompt())
                } catch {
                    isChanged = false
                }
                strace.detach()
                let image = try FileImage(of: keychain.layout.dataDirectory)
                let found = try await OpenedImage(image, passcodes: [PrivateKeychain.passcode, new])
                #expect(found.opening.count == 1, "\(failure)")
                if isChanged { #expect(found.opening == [new], "\(failure)") }
                // The running daemon accepts the passcode that the files accept.
                try keychain.client.lock()
                try keychain.tellPerson(found.opening.map { .types($0) } + [.cancels])
                #expect(throws: Never.self, "\(failure): \(isChanged), \(found.opening)") {
                    try keychain.unlock()
                }
                #expect(try keychain.all().count == Change.former.count, "\(failure)")
                keychain.stop(with: SIGKILL)
            }
        }
    }
}
