import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Synchronization
import Testing
import TouchstoneTesting

@Suite(
    "A crash on a file system whose renames cannot be exclusive",
    .serialized,
    .enabled(if: Strace.isThere, "needs root and strace"),
    .timeLimit(.minutes(CaseSize.of(10, full: 60)))
)
struct LinkedRenameTests {
    enum Operation: String, CaseIterable {
        case setUp, restore, startOver
    }

    /// What makes the exclusive rename unknown.
    private static let refusing = ["-e", "inject=renameat2:error=EINVAL"]

    private static func killing(at number: Int, of call: String) -> [String] {
        ["-o", "/dev/null", "-e", "trace=renameat2,\(call)"] + refusing
            + ["-e", "inject=\(call):signal=KILL:when=\(number)"]
    }

    /// A keychain with items, and a backup of it.
    private struct Source {
        let keychain: PrivateKeychain
        let files: FileImage
        let export: [UInt8]
        let model = Change.model(former: Change.former, script: [], afterAnswers: 0)

        init() async throws {
            keychain = try await PrivateKeychain.withFormerItems()
            let collected = Mutex<[UInt8]>([])
            _ = try keychain.client.exportKeychain(keychain.prompt()) { octets, _ in
                collected.withLock { $0 += octets }
            }
            export = collected.withLock { $0 }
            keychain.stop(with: SIGKILL)
            files = try FileImage(of: keychain.layout.dataDirectory)
        }
    }

    private static func run(_ operation: Operation, on keychain: PrivateKeychain, _ source: Source) throws {
        switch operation {
        case .setUp: try keychain.client.setUp(keychain.prompt())
        case .restore:
            try keychain.client.sendImport(ImportPart(offset: 0, octets: source.export))
            _ = try keychain.client.importKeychain(keychain.prompt())
        case .startOver:
            try keychain.tellPerson([.types("start over")])
            try keychain.client.startOver(keychain.prompt())
        }
    }

    // Catches a link that is left behind, with which the next start is refused, and a step that nothing continues.
    @Test(
        "after a kill at any of its calls the next start works, and nothing is lost",
        arguments: Operation.allCases
    )
    func kills(_ operation: Operation) async throws {
        let source = try await Source()
        let keychain = try PrivateKeychain()
        try FileManager.default.copyItem(
            atPath: source.keychain.home.appending("code"),
            toPath: keychain.home.appending("code")
        )
        let directory = keychain.layout.dataDirectory
        var killed: [String: Int] = [:]
        for call in ["linkat", "unlinkat"]
            + CaseSize.of([], full: ["fsync", "renameat", "mkdirat", "openat"])
        {
            for number in 1..<500 {
                try (operation == .startOver ? source.files : FileImage()).write(to: directory)
                var isDone = false
                do {
                    try await keychain.start(through: Strace.wrapper(Self.killing(at: number, of: call)))
                    try Self.run(operation, on: keychain, source)
                    isDone = true
                } catch {}
                keychain.stop(with: SIGKILL)
                if !isDone { killed[call, default: 0] += 1 }
                let moment = "\(operation), killed at \(call) \(number)"
                let refusing = ["-o", "/dev/null", "-e", "trace=renameat2"] + Self.refusing
                try await keychain.start(through: Strace.wrapper(refusing))
                try await judge(operation, keychain, source, isDone: isDone, moment)
                keychain.stop(with: SIGKILL)
                let names = try FileManager.default.contentsOfDirectory(atPath: directory)
                #expect(!names.contains { $0.hasSuffix(".new") }, "\(moment): \(names)")
                if isDone { break }
            }
        }
        // The keybag, its copy and the items; or all files.
        #expect(killed["linkat", default: 0] >= (operation == .startOver ? 6 : 3), "\(killed)")
        #expect(killed["unlinkat", default: 0] >= 6, "\(killed)")
    }

    private func judge(
        _ operation: Operation,
        _ keychain: PrivateKeychain,
        _ source: Source,
        isDone: Bool,
        _ moment: String
    ) async throws {
        let directory = keychain.layout.dataDirectory
        // Nothing else is waited for with the items of a start-over that was interrupted before its keybag went.
        guard try keychain.client.status().keybag == .notSetUp else {
            #expect(operation != .startOver || !isDone, "\(moment)")
            try keychain.tellPerson([])
            try keychain.unlock()
            let model = operation == .setUp ? Model() : source.model
            #expect(model.faults(in: try keychain.all()).isEmpty, "\(moment)")
            return
        }
        guard operation == .startOver else {
            #expect(!isDone, "\(moment): acknowledged")
            try Self.run(operation, on: keychain, source)
            let model = operation == .setUp ? Model() : source.model
            #expect(model.faults(in: try keychain.all()).isEmpty, "\(moment): repeated")
            return
        }
        let former = try FileImage(of: directory + "/former-1")
        #expect(try await OpenedImage(former).faults(source.model).isEmpty, "\(moment)")
    }
}
