import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// Mistakes possible with other APIs, and the compiler's errors for them.
@Suite("Misuse does not compile", .timeLimit(.minutes(20)))
struct MisuseTests {
    struct Misuse: Sendable, CustomTestStringConvertible {
        let wish: String
        let source: String
        /// A part of the compiler's error.
        let refusal: String
        var testDescription: String { wish }

        init(_ wish: String, _ source: String, _ refusal: String) {
            (self.wish, self.source, self.refusal) = (wish, source, refusal)
        }
    }

    private static let misuses = [
        Misuse(
            "a prompt's outcome as a Bool",
            #"func f() async throws { if try await Keychain.current.authenticate("Open") { print("open") } }"#,
            "cannot convert value of type 'Proof' to expected condition type 'Bool'"
        ),
        Misuse(
            "a capability as a Bool",
            "func f() async throws -> Bool { try await Keychain.current.capability() }",
            "cannot convert return expression of type 'Capability' to return type 'Bool'"
        ),
        Misuse(
            "a proof of an app's own",
            "let proof = Proof()",
            "'Proof' initializer is inaccessible"
        ),
        Misuse(
            "an assurance of an app's own",
            "let a = Assurance(facts: [.keyBound, .perUse], method: .fingerprint, hardware: .hardware)",
            "'Assurance' initializer is inaccessible"
        ),
        Misuse(
            "a signature of an app's own",
            "func f(_ a: Assurance) -> DeviceSignature { DeviceSignature(rawRepresentation: Data(), derRepresentation: Data(), assurance: a) }",
            "'DeviceSignature' initializer is inaccessible"
        ),
        Misuse(
            "a key's use on the proof of a prompt before",
            #"func f(_ p: Proof) async throws { _ = try await DeviceSigningKey.find("k").sign(Data(), with: .proof(p)) }"#,
            "type 'PromptText' has no member 'proof'"
        ),
        Misuse(
            "a weaker rule at a use",
            #"func f() async throws { let x: String = try await store.read("k", rule: .whenUnlocked); print(x) }"#,
            "extra argument 'rule' in call"
        ),
        Misuse(
            "a time window at a use",
            #"func f(_ key: DeviceSigningKey) async throws { _ = try await key.sign(Data(), "Pay", reusableFor: 5) }"#,
            "extra argument 'reusableFor' in call"
        ),
        Misuse(
            "a rule that is changed in place",
            "func f(_ rule: inout AccessRule) { rule.acceptsWeakBiometry = true }",
            "'acceptsWeakBiometry' is inaccessible"
        ),
        Misuse(
            "a rule with no demand",
            "let rule = AccessRule()",
            "'AccessRule' initializer is inaccessible"
        ),
        Misuse(
            "a signing key that opens",
            "func f(_ key: DeviceSigningKey) async throws { _ = try await key.open(Data()) }",
            "requires the types 'KeyPurpose.Signing' and 'KeyPurpose.Sealing' be equivalent"
        ),
        Misuse(
            "a sealing key that signs",
            "func f(_ key: DeviceSealingKey) async throws { _ = try await key.sign(Data()) }",
            "requires the types 'KeyPurpose.Sealing' and 'KeyPurpose.Signing' be equivalent"
        ),
        Misuse(
            "a nonce",
            "func f(_ key: DeviceSealingKey) async throws { _ = try await key.seal(Data(), nonce: Data(count: 12)) }",
            "extra argument 'nonce' in call"
        ),
        Misuse(
            "a private key's bytes",
            "func f(_ key: DeviceSigningKey) -> Data { key.privateKey }",
            "has no member 'privateKey'"
        ),
        Misuse(
            "a closure that is called some time",
            #"func f() async throws { _ = try await Keychain.current.authenticate("Open") { print($0) } }"#,
            "extra trailing closure"
        ),
        Misuse(
            "a call that blocks its thread",
            #"func f() throws { let text: String = try store.read("k"); print(text) }"#,
            "'async' call in a function that does not support concurrency"
        ),
        Misuse(
            "a failure that nobody looks at",
            #"func f() async { let text: String = await store.read("k"); print(text) }"#,
            "call can throw, but it is not marked with 'try'"
        ),
        Misuse(
            "errors' codes as if there were no others",
            "func f(_ error: TouchstoneError) -> Int { switch error.code { case .notFound: 1 } }",
            "switch must be exhaustive"
        ),
        Misuse(
            "an error's code that is misspelt",
            "func f(_ error: TouchstoneError) -> Bool { error.code == .userCanceled }",
            "has no member 'userCanceled'"
        ),
        Misuse(
            "a deletion as a Bool",
            #"func f() async throws { let was: Bool = try await store.delete("k"); print(was) }"#,
            "cannot convert value of type 'Deletion' to specified type 'Bool'"
        ),
        Misuse(
            "a read without a key",
            "func f() async throws { let all: [String: String] = try await store.read(); print(all) }",
            "missing argument for parameter #1 in call"
        ),
        Misuse(
            "lent bytes that are kept",
            #"func f() async throws -> Int { var kept = RawSpan(); try await store.withBytes(of: "k") { kept = $0 }; return kept.byteCount }"#,
            "lifetime-dependent variable 'kept' escapes its scope"
        ),
    ]

    @Test("misuse that would weaken a secret is rejected with an error that names it", arguments: misuses)
    func refused(_ misuse: Misuse) async throws {
        let (status, output) = try await compile(misuse.source)
        #expect(status != 0)
        #expect(output.contains("error: ") && output.contains(misuse.refusal), "\(output)")
    }

    @Test("the correct forms of the same calls compile")
    func meant() async throws {
        let (status, output) = try await compile(
            #"""
            func use(_ key: DeviceSigningKey, _ sealing: DeviceSealingKey, _ proof: Proof) async throws(TouchstoneError) -> Int {
                _ = try await key.sign(Data(), "Pay 12.30 EUR")
                _ = try await sealing.open(try await sealing.seal(Data(), context: Data()), context: Data(), "Open")
                let text: String = try await store.read("k", with: .proof(proof))
                let was: Deletion = try await store.delete("k")
                return try await store.withBytes(of: "k") { $0.byteCount } + text.count + (was == .deleted ? 1 : 0)
            }
            func code(_ error: TouchstoneError) -> Int { switch error.code { case .notFound: 1; default: 2 } }
            let rule = AccessRule.biometry.reusable(for: .seconds(60))
            """#
        )
        #expect(status == 0, "\(output)")
    }

    /// Type-checks a source against the built modules.
    private func compile(_ source: String) async throws -> (status: Int32, output: String) {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/Misuse.swift"
        let head = """
            import Foundation
            import Touchstone

            let store = SecretStore("com.example.tokens")

            """
        try Data((head + source + "\n").utf8).write(to: URL(fileURLWithPath: file))
        var arguments = [
            "-emit-sil", "-parse-as-library", "-swift-version", "6", "-o", "/dev/null",
            "-I", Programs.directory + "/Modules", "-module-cache-path", Programs.directory + "/ModuleCache",
        ]
        for target in try FileManager.default.contentsOfDirectory(atPath: Programs.directory) {
            let map = "\(Programs.directory)/\(target)/module.modulemap"
            if FileManager.default.fileExists(atPath: map) {
                arguments += ["-Xcc", "-fmodule-map-file=\(map)"]
            }
        }
        let log = directory.path + "/output"
        let compiler = try await ChildProcess.start(
            try #require(Self.compiler, "swiftc is not in PATH"),
            arguments + [file],
            environment: ["PATH": Self.path, "HOME": directory.path],
            log: log
        )
        let status = try await compiler.waitUntilEnd()
        return (status, try String(contentsOfFile: log, encoding: .utf8))
    }

    private static let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    /// The compiler, which exists wherever tests are built.
    private static let compiler = path.split(separator: ":").map { "\($0)/swiftc" }.first {
        FileManager.default.isExecutableFile(atPath: $0)
    }
}
