import Foundation
import Security
import Testing
import Touchstone
import TouchstoneTesting

/// Every sentence of the article "Testing an app" is a test.
@Suite("Sentences of the test kit's article", .timeLimit(.minutes(5)))
struct ArticleSentenceTests {
    /// The tests of each sentence, as functions of files below `Tests`; a manifest is compiled by `Scripts/documentation`.
    private static let tests: [(sentence: String, file: String, functions: [String])] = [
        (
            "Five lines to test a stored secret, and one line for each fault.", "KitArticleTests",
            ["aTokenComesBack"]
        ),
        ("On the machine: `apt install dbus fprintd`, and `swtpm` for a TPM.", here, ["requirements"]),
        (
            "In the manifest, the kit and the daemon, which is built with the tests:", "WithKeychainTests",
            ["noDaemon"]
        ),
        (
            "Missing requirements are reported in one sentence that says what to install or add.",
            here, ["requirements"]
        ),
        ("The app has a store:", "KitArticleTests", ["aTokenComesBack"]),
        (
            "Inside ``TemporaryKeychain/use(isolation:_:)`` it uses the test's keychain, without a change to the app:",
            "KitArticleTests", ["aTokenComesBack"]
        ),
        (
            "The person at the prompt touches the sensor with the enrolled finger, unless the test says otherwise.",
            "TemporaryKeychainTests", ["finger", "deeds"]
        ),
        (
            "Where the prompt asks for the passcode, as after a lock or a lockout, the person types it.",
            "PersonTests", ["locked", "lockedOut", "newTerminal", "due"]
        ),
        (
            "``TemporaryKeychain/person(_:)`` takes one ``TestDeed`` for each of the next prompts.",
            "TemporaryKeychainTests", ["deeds", "ignored"]
        ),
        (
            "``TemporaryKeychain/prompts`` has the prompts shown.",
            "TemporaryKeychainTests", ["finger", "deeds"]
        ),
        ("A prompt that asks for the passcode and then for the finger is one.", "PersonTests", ["locked"]),
        (
            "``TemporaryKeychain/cause(_:)`` makes a ``TestFault`` happen to the real components, and returns when it has "
                + "happened:",
            "FaultTests",
            [
                "unplug", "crash", "lock", "suspend", "deny", "noPasscode", "damage", "fullDisk", "chip",
                "missingPart",
            ]
        ),
        (
            "A ``TestReader/weak`` reader is accepted only by what accepts weak biometry, and without a reader there is no "
                + "hardware.",
            "PersonTests", ["weak", "noReader"]
        ),
        (
            "A ``ManualClock`` controls the daemon's time: delays after wrong passcodes, how long a success may be reused, "
                + "how long until the passcode is required instead of a finger.",
            "PersonTests", ["mistyped", "due"]
        ),
        (
            "An XCTest suite, or any tests that do not call `use`, gets a keychain from the program "
                + "`touchstone-with-keychain`, which runs a command with one:",
            "WithKeychainTests", ["shared", "status", "outputs"]
        ),
        (
            "Its product is built with the tests if it is among the dependencies of a test target, beside "
                + "`touchstoned-testing`.",
            "WithKeychainTests", ["shared", "noDaemon"]
        ),
        (
            "The keychain is one for the whole command, so tests remove what they store, as they do on a device; the "
                + "enrolled finger touches at every prompt.",
            "WithKeychainTests", ["shared", "finger"]
        ),
        (
            "The programs find it by the environment variable `TOUCHSTONE_HOME`, the directory of all files of a keychain, "
                + "and no call reaches the user's own.",
            "WithKeychainTests", ["shared", "signal"]
        ),
        ("`--without-sensor` takes the sensor away.", "WithKeychainTests", ["finger"]),
        (
            "`use` applies to the code of its task and of child tasks, and to the replies of its calls.",
            "PersonTests", ["replies"]
        ),
        (
            "In a detached task, or on a thread that the app starts itself, calls fail with an error: from the first "
                + "``TemporaryKeychain`` on, no call of the process reaches the user's own keychain.",
            here, ["outside"]
        ),
        (
            "Pass such code ``TemporaryKeychain/keychain``, for example as the last parameter of a store.",
            here, ["outside"]
        ),
        ("Each keychain starts a daemon, a bus and fprintd, which takes about a second.", here, ["outside"]),
        ("Keep several checks in one test.", here, ["outside"]),
        ("The assurance of such a keychain is `test`, which a server can see.", here, ["outside"]),
    ]
    private static let here = "ArticleSentenceTests"

    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent()

    @Test("every sentence of the article has tests, and the tests exist")
    func sentences() throws {
        let article = Self.folder.deletingLastPathComponent()
            .appending(path: "Sources/Kit/TouchstoneTesting/TouchstoneTesting.docc/TestingAnApp.md")
        let text = try String(contentsOf: article, encoding: .utf8)
        // Without samples and headings; a paragraph or a line of a list is a row of sentences.
        var prose: [String] = [""]
        var isSample = false
        for line in text.components(separatedBy: "\n") {
            if line.hasPrefix("```") { isSample.toggle() }
            if isSample || line.hasPrefix("```") || line.hasPrefix("#") || line.isEmpty {
                prose.append("")
            } else if line.hasPrefix("- ") {
                prose.append(String(line.dropFirst(2)))
            } else {
                prose[prose.count - 1] +=
                    (prose.last?.isEmpty == false ? " " : "") + line.trimmingCharacters(in: .whitespaces)
            }
        }
        let sentences = prose.flatMap { paragraph in
            paragraph.split(separator: " ").reduce(into: [String]()) { sentences, word in
                let isFirst = word.first == "`" || word.first?.isUppercase == true
                if let last = sentences.last, !last.hasSuffix(".") || !isFirst {
                    sentences[sentences.count - 1] = "\(last) \(word)"
                } else {
                    sentences.append(String(word))
                }
            }
        }
        #expect(Set(sentences) == Set(Self.tests.map(\.sentence)))

        let files = try #require(
            FileManager.default.enumerator(at: Self.folder, includingPropertiesForKeys: nil)
        )
        .compactMap { $0 as? URL }
        for (sentence, file, functions) in Self.tests {
            let found = try #require(files.first { $0.lastPathComponent == file + ".swift" }, "\(sentence)")
            let code = try String(contentsOf: found, encoding: .utf8)
            for function in functions { #expect(code.contains("func \(function)("), "\(file).\(function)") }
        }
    }

    @Test("a missing program is one line that says what to install")
    func requirements() {
        for (program, package) in [
            ("/usr/bin/dbus-daemon", "dbus"), ("/usr/libexec/fprintd", "fprintd"),
            ("/usr/bin/swtpm", "swtpm"),
        ] {
            let text = TestKitError.missingProgram(program).description
            #expect(text == "\(program) is missing: apt install \(package)")
        }
    }

    @Test("a detached task and a thread reach no keychain, unless they are given the test's")
    func outside() async throws {
        let keychain = try await TemporaryKeychain(reader: nil)
        let given = SecretStore("outside", rule: .whenUnlocked, in: keychain.keychain)
        let unchanged = SecretStore("outside", rule: .whenUnlocked)
        try await keychain.use {
            try await unchanged.write("1", for: "key")
            async let child: String = unchanged.read("key")
            #expect(try await child == "1")
            let code = await Task.detached {
                do throws(TouchstoneError) {
                    return try await unchanged.read("key", as: String.self)
                } catch {
                    return error.code.rawValue
                }
            }.value
            #expect(code == "serviceMissing")
            #expect(try await Task.detached { try await given.read("key", as: String.self) }.value == "1")
            let status = await withCheckedContinuation { continuation in
                Thread.detachNewThread { continuation.resume(returning: NoteStore.read().status) }
            }
            #expect(status == errSecNotAvailable)
            let proof = try await Keychain.current.authenticate("a test", using: .passcode)
            #expect(proof.assurance.level == .test && proof.assurance.hardware == .test)
        }
    }
}
