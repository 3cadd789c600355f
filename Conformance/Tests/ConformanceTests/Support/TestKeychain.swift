import Foundation
import LocalAuthentication
import Testing

#if os(Linux)
    import TouchstoneTesting
#endif

/// The keychain that the tests use, and its user.
///
/// On Linux it is a private daemon in a temporary directory, with a scripted user; or, with `CONFORMANCE_KEYCHAIN`, the user's
/// own daemon: the variable names the directory in which a scripted user reads `deeds` and writes `notes`. On Apple's systems it
/// is the system's keychain; `CONFORMANCE_PERSON=1` states that someone is at the machine and does what the tests' names say, and
/// `CONFORMANCE_GROUP` names a second keychain access group of the app that hosts the tests.
enum TestKeychain {
    #if os(Linux)
        static let group: String? = "org.example.conformance"
        static let hasPerson = true

        /// The directory for the scripted user of an existing keychain; nil for a private one.
        static let person = ProcessInfo.processInfo.environment["CONFORMANCE_KEYCHAIN"]

        private static let running = Task { () async throws -> PrivateKeychain in
            let keychain = try PrivateKeychain()
            let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            _ = try keychain.home.write("[\(group ?? "")]\n\(program)\n", to: "access-groups.conf")
            try await keychain.start()
            try keychain.client.setUp(keychain.prompt())
            // The variables by which Apple's API finds the keychain and the place for prompts.
            setenv("TOUCHSTONE_HOME", keychain.home.path, 1)
            setenv("DISPLAY", ":0", 1)
            return keychain
        }

        /// Waits until the keychain is ready.
        static func prepare() async throws { if person == nil { _ = try await running.value } }

        /// Makes the user cancel the next prompts, or consent to them.
        static func tellPerson(cancel count: Int) async throws {
            let deeds = Array(repeating: ScriptedPinentry.Deed.cancels, count: count)
            guard let person else { return try await running.value.tellPerson(deeds) }
            try ScriptedPinentry.tell(deeds, home: person)
        }

        /// Makes the user give the passcode at the next prompts, and type an application password at the one after them.
        static func tellPerson(types password: String, afterPrompts count: Int = 0) async throws {
            let deeds = Array(repeating: ScriptedPinentry.Deed.usual, count: count) + [.types(password)]
            guard let person else { return try await running.value.tellPerson(deeds) }
            try ScriptedPinentry.tell(deeds, home: person)
        }

        /// The number of prompts so far; nil where they are not counted.
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
        static func tellPerson(types password: String, afterPrompts count: Int = 0) async throws {
            print("Type \"\(password)\" where an application password is asked for.")
        }
        static func prompts() async throws -> Int? { nil }
    #endif

    /// Whether the device has a passcode.
    static var hasPasscode: Bool {
        LAContext().canEvaluatePolicy(.deviceOwnerAuthentication, error: nil)
    }
}

/// Waits until the keychain is ready before the test starts.
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
    /// Needs the keychain.
    static var keychain: Self { Self() }
}

extension Trait where Self == ConditionTrait {
    /// Needs a user with a finger or a passcode.
    static var person: Self { .enabled(if: TestKeychain.hasPerson, "nobody is at the machine") }
}
