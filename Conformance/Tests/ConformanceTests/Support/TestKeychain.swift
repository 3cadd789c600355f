import Foundation
import LocalAuthentication
import Testing

#if os(Linux)
    import TouchstoneTesting
#endif

/// The keychain that these tests use, and the person who owns it.
///
/// On Linux it is a daemon of its own in a private directory, whose owner is a script; or the one that the user has, with
/// `CONFORMANCE_KEYCHAIN`, the directory in which such an owner reads `deeds` and writes `notes`. On Apple's systems it is
/// the system's, and `CONFORMANCE_PERSON=1` says that somebody sits at the machine who does what the tests'
/// names say; `CONFORMANCE_GROUP` names a second keychain access group of the app that hosts the tests.
enum TestKeychain {
    #if os(Linux)
        static let group: String? = "org.example.conformance"
        static let hasPerson = true

        /// Where the person of a keychain that is there already is met; nil for one of the tests' own.
        static let person = ProcessInfo.processInfo.environment["CONFORMANCE_KEYCHAIN"]

        private static let running = Task { () async throws -> PrivateKeychain in
            let keychain = try PrivateKeychain()
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            _ = try keychain.home.write("[\(group ?? "")]\n\(program)\n", to: "access-groups.conf")
            try await keychain.start()
            try keychain.client.setUp(keychain.prompt())
            // Where Apple's names look for the keychain, and where they say that prompts can go.
            setenv("TOUCHSTONE_HOME", keychain.home.path, 1)
            setenv("DISPLAY", ":0", 1)
            return keychain
        }

        /// Waits until the keychain can be used.
        static func prepare() async throws { if person == nil { _ = try await running.value } }

        /// Tells the person to press cancel at the next prompts, or to consent to them.
        static func tellPerson(cancel count: Int) async throws {
            let deeds = Array(repeating: ScriptedPinentry.Deed.cancels, count: count)
            guard let person else { return try await running.value.tellPerson(deeds) }
            try ScriptedPinentry.tell(deeds, home: person)
        }

        /// How many prompts were shown so far; nil where nobody counts.
        static func prompts() async throws -> Int? {
            guard let person else { return try await running.value.prompts }
            return try String(contentsOfFile: person + "/notes", encoding: .utf8).split(separator: "\n").count
        }
    #else
        static let group = ProcessInfo.processInfo.environment["CONFORMANCE_GROUP"]
        static let hasPerson = ProcessInfo.processInfo.environment["CONFORMANCE_PERSON"] == "1"

        static func prepare() async throws {}
        static func tellPerson(cancel count: Int) async throws {
            print(count > 0 ? "Press cancel at the next \(count) prompts." : "Consent to the next prompts.")
        }
        static func prompts() async throws -> Int? { nil }
    #endif

    /// Whether the device has a passcode.
    static var hasPasscode: Bool {
        LAContext().canEvaluatePolicy(.deviceOwnerAuthentication, error: nil)
    }
}

/// Tests with this trait start once the keychain can be used.
struct KeychainTrait: SuiteTrait, TestTrait, TestScoping {
    let isRecursive = true

    func provideScope(
        for test: Test,
        testCase: Test.Case?,
        performing function: @Sendable () async throws -> Void
    ) async throws {
        try await TestKeychain.prepare()
        try await function()
    }
}

extension Trait where Self == KeychainTrait {
    /// Uses the keychain.
    static var keychain: Self { Self() }
}

extension Trait where Self == ConditionTrait {
    /// Needs a finger or a passcode.
    static var person: Self { .enabled(if: TestKeychain.hasPerson, "nobody is at the machine") }
}
