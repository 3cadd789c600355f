import Foundation
import Glibc
import KeychainClient
import KeychainEngine
@_spi(AuthenticationEngine) import KeychainModel
import SecretMemory
import Testing
import Touchstone
import TouchstoneTesting

@Suite(
    "A crash while a value is replaced",
    .serialized,
    .enabled(
        if: Strace.isThere && access(Programs.touchstone, X_OK) == 0,
        "needs root, strace and touchstone"
    )
)
struct ReplaceKillTests {
    /// Everything that replaces a value which its owner believes to be stored.
    enum Operation: String, CaseIterable, Sendable {
        case git, docker, set, copy, rename, edit, require, merge, keptSet, keptDelete, signInToken,
            storeWrite, storeMigrate

        /// What is stored before, by account.
        var former: [String: String] {
            switch self {
            case .git: ["git:https://u@h": "old"]
            case .docker: ["docker:h": "old"]
            case .set, .edit, .merge: ["a": "old"]
            case .copy: ["a": "old", "b": "new"]
            case .rename: ["a": "new"]
            case .require: ["a": "none", "b": "none"]
            // The setting has no value.
            case .keptSet, .keptDelete: ["a": "old", "history": ""]
            // The store's marker has no value.
            case .signInToken, .storeWrite: ["": "", "refresh": "old"]
            case .storeMigrate: ["": "", "a": "none", "b": "none"]
            }
        }

        /// What is stored afterwards.
        var later: [String: String] {
            switch self {
            case .copy, .merge: ["a": "new", "b": "new"]
            case .rename: ["b": "new"]
            case .require: ["a": "none, now passcode", "b": "none, now passcode"]
            case .keptSet: ["a": "new", "kept a": "old", "history": ""]
            case .keptDelete: ["kept a": "old", "history": ""]
            case .storeMigrate: ["": "", "a": "none, now passcode", "b": "none, now passcode"]
            default: former.mapValues { $0.isEmpty ? "" : "new" }
            }
        }

        /// Whether the keychain keeps what is replaced and deleted.
        var keeps: Bool { self == .keptSet || self == .keptDelete }

        /// Whether this process makes the request itself.
        var isOwn: Bool { [.signInToken, .storeWrite, .storeMigrate].contains(self) }

        /// The shell's command; `$T` is the program.
        func command(storing value: String) -> String {
            switch self {
            case .git:
                "printf 'protocol=https\\nhost=h\\nusername=u\\npassword=\(value)\\n' | $T git-credential store"
            case .docker:
                "printf '{\"ServerURL\":\"h\",\"Username\":\"u\",\"Secret\":\"\(value)\"}' | $T docker-credential store"
            case .keptDelete: "$T delete a --yes"
            case .set, .keptSet: "printf \(value) | $T set a --replace --require none"
            case .copy: "$T copy b a --replace"
            case .rename: "$T rename a b"
            case .require: "$T require a b passcode"
            case .merge: "$T backup --restore --merge --on-conflict replace ~/backup"
            case .edit: "EDITOR=\"sed -i s/old/\(value)/\" $T edit a"
            case .signInToken, .storeWrite, .storeMigrate: ""
            }
        }
    }

    /// A keychain with what an operation replaces, and its files.
    private struct Place {
        let keychain: PrivateKeychain
        let operation: Operation
        private var former = FileImage()
        private let terminal: PseudoTerminal

        init(_ operation: Operation) async throws {
            self.operation = operation
            terminal = try PseudoTerminal()
            keychain = try await PrivateKeychain.ready()
            if operation.keeps { try await run("$T history --keep 3") }
            for (name, value) in operation.former where !operation.isOwn && name != "history" {
                switch operation {
                // Nobody is asked when these are replaced, whatever they require.
                case .git, .docker:
                    try await run(operation.command(storing: value), requiring: "passcode")
                default: try await run("printf \(value) | $T set \(name) --require none")
                }
            }
            if operation == .merge {
                for name in ["a", "b"] {
                    try await run("printf new | $T set \(name) --replace --require none")
                }
                try await run(
                    "$T backup ~/backup && $T delete b --yes && printf old | $T set a --replace --require none"
                )
            }
            if operation.isOwn { try await apply("old") }
            keychain.stop(with: SIGKILL)
            former = try FileImage(of: keychain.layout.dataDirectory)
        }

        /// Runs a command to its end.
        func run(_ command: String, requiring requirement: String? = nil, through wrapper: [String] = [])
            async throws
        {
            let more = requirement.map { ["TOUCHSTONE_CREDENTIAL_REQUIRE": $0] } ?? [:]
            let status = try await keychain.runShell(command, on: terminal, more, through: wrapper)
            guard status == 0 else { throw TestKitError.unexpected(command) }
        }

        /// Makes the change.
        func apply(_ value: String, through wrapper: [String] = []) async throws {
            let store = Keychain(keychain.client, promptsAt: keychain.prompt().origin)
            switch operation {
            case .signInToken:
                try await SecretStore("login.token:s", rule: .passcode, in: store)
                    .replaceUnread(value, for: "refresh")
            case .storeWrite:
                try await SecretStore("s", rule: .whenUnlocked, in: store).write(value, for: "refresh")
            case .storeMigrate:
                let former = SecretStore("s", rule: .whenUnlocked, in: store)
                guard value == "old" else {
                    return try await SecretStore("s", rule: .passcode, in: store).migrate(from: former)
                }
                for key in ["a", "b"] { try await former.write("none", for: key) }
            default: try await run(operation.command(storing: value), through: wrapper)
            }
        }

        /// What the files hold, by account, opened with the passcode.
        func found() async throws -> [String: String] {
            let values = try await OpenedImage.values(
                in: FileImage(of: keychain.layout.dataDirectory),
                of: operation.isOwn ? OpenedImage.ownGroup : AccessGroup("touchstone")
            )
            guard operation.keeps else { return values }
            // A kept value's account is a time and the name.
            return Dictionary(
                uniqueKeysWithValues: values.map { account, value in
                    let words = account.split(separator: " ")
                    return (words.count == 2 ? "kept \(words[1])" : account, value)
                }
            )
        }

        /// Puts the former files back, and starts the daemon.
        func begin() async throws {
            try former.write(to: keychain.layout.dataDirectory)
            try await keychain.start()
            try keychain.unlock()
        }

        /// Expects the former or the later values, and the later ones if they were acknowledged.
        func judge(isAcknowledged: Bool, _ moment: String) async throws {
            let found = try await found()
            #expect(
                found == operation.later || !isAcknowledged && found == operation.former,
                "\(operation) killed at \(moment): \(found)"
            )
        }
    }

    // Catches a deletion that is committed before the addition, and a value that is written in place.
    @Test(
        "after a kill of the daemon at any write the former or the new value is there, whole",
        .timeLimit(.minutes(20)),
        arguments: Operation.allCases
    )
    func daemon(operation: Operation) async throws {
        let place = try await Place(operation)
        #expect(try await place.found() == operation.former)
        var killed = 0
        for call in CaseSize.of(["fdatasync"], full: Strace.writes) {
            // A migration changes the values, and then the store's marker.
            for number in 1..<CaseSize.of(operation == .storeMigrate ? 6 : 2, full: 40) {
                try await place.begin()
                let strace = try await Strace.attach(
                    to: place.keychain.processID,
                    Strace.killing(at: number, of: call)
                )
                let isAcknowledged = (try? await place.apply("new")) != nil
                place.keychain.stop(with: SIGKILL)
                strace.detach()
                try await place.judge(isAcknowledged: isAcknowledged, "\(call) \(number)")
                guard !isAcknowledged else { break }
                killed += 1
                guard operation == .storeMigrate else { continue }
                // The second call finishes.
                try await place.keychain.start()
                try place.keychain.unlock()
                try await place.apply("new")
                place.keychain.stop(with: SIGKILL)
                try await place.judge(isAcknowledged: true, "\(call) \(number), then called again")
            }
        }
        #expect(killed >= CaseSize.of(1, full: 2), "\(killed) kills")
    }

    // Catches a command that needs a second request to complete what the first one began.
    @Test(
        "after a kill of the command at any call the former or the new value is there, whole",
        .timeLimit(.minutes(20)),
        arguments: CaseSize.of([.git, .copy], full: Operation.allCases.filter { !$0.isOwn })
    )
    func command(operation: Operation) async throws {
        let place = try await Place(operation)
        try await place.begin()
        var killed = 0
        for call in CaseSize.of(
            ["sendto"],
            full: ["sendto", "sendmsg", "recvfrom", "recvmsg", "poll", "read", "close"]
        ) {
            for number in stride(from: CaseSize.of(3, full: 1), to: CaseSize.of(4, full: 60), by: 1) {
                place.keychain.stop(with: SIGKILL)
                try await place.begin()
                let wrapper =
                    [Strace.path, "-f", "-qq", "-e", "signal=none"] + Strace.killing(at: number, of: call)
                let isAcknowledged = (try? await place.apply("new", through: wrapper)) != nil
                // What the command sent before its end has been answered by then.
                _ = try place.keychain.client.status()
                place.keychain.stop(with: SIGKILL)
                try await place.judge(isAcknowledged: isAcknowledged, "\(call) \(number)")
                try await place.begin()
                guard !isAcknowledged else { break }
                killed += 1
            }
        }
        if CaseSize.isFull { #expect(killed >= 6, "\(killed) kills") }
    }

    // Catches a look-up and a change that are two steps.
    @Test(
        "eight that replace one sign-in token or stored value at once leave one of theirs",
        arguments: [Operation.signInToken, .storeWrite]
    )
    func eight(operation: Operation) async throws {
        let place = try await Place(operation)
        try await place.begin()
        for _ in 0..<CaseSize.of(2, full: 40) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<8 { group.addTask { try await place.apply("new \(number)") } }
                try await group.waitForAll()
            }
        }
        place.keychain.stop(with: SIGTERM)
        let found = try await place.found()
        #expect(found.count == 2 && found["refresh"]?.hasPrefix("new ") == true, "\(found)")
    }
}

extension OpenedImage {
    /// The values of all items of a group by account, as the passcode opens them.
    fileprivate static func values(in image: FileImage, of group: AccessGroup?) async throws -> [String:
        String]
    {
        let home = try TemporaryDirectory()
        let path = home.appending("data")
        try image.write(to: path)
        let engine = try engine(StoreDirectory(path: path))
        let typed = SecretBytes(copying: Array(PrivateKeychain.passcode.utf8))
        guard case .opened(let key) = try await engine.keybag.open(passcode: typed), let group else {
            throw TestKitError.unexpected("the passcode opens nothing")
        }
        let report = engine.items.check()
        guard report.damaged == 0, report.isSetAuthentic, report.faults.isEmpty else {
            throw TestKitError.unexpected("\(report)")
        }
        let proof = AuthenticationProof(
            factors: [.passcode],
            satisfied: [.devicePasscode, .userPresence],
            operation: .useItem,
            time: BootTime(bootID: "tests", nanoseconds: 1),
            context: ContextID(connection: 1, number: 1),
            passcodeKey: key,
            isOfWeakSensor: false
        )
        let query = ItemQuery(itemClass: .genericPassword, limit: .all, returns: [.attributes, .data])
        let outcome = try engine.items.copy(
            query,
            groups: [group],
            authorization: ItemAuthorization(proofs: [proof]),
            after: nil
        )
        guard case .done(let page) = consume outcome else { throw TestKitError.unexpected("more is needed") }
        let values = try decode(page) { attributes, value in
            let text = String(decoding: value, as: UTF8.self)
            // Only `require` begins with "none".
            guard text == "none", case .data(let rule) = attributes[.accessControl],
                (try? AccessControl(decoding: rule))?.flags == .devicePasscode
            else { return text }
            return "\(text), now passcode"
        }
        guard values.count == page.count else { throw TestKitError.unexpected("two items of one name") }
        await engine.close()
        return values
    }
}
