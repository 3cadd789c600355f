import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Synchronization
import Testing
import TouchstoneTesting

/// A change of a prefix that fails in the middle, as a daemon that does so shows it.
@Suite("touchstone rename of a prefix that fails in the middle")
struct PrefixFailureTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    /// What the daemon does instead of setting a name.
    enum Fault: Sendable {
        /// Refuses it, and changes nothing.
        case refuses(Refusal)
        /// Changes it, and hangs up before it says so.
        case hangsUp
        /// Hangs up, and closes every later connection.
        case goes
        /// Changes it after the test's signal.
        case waits
    }

    /// Why it refuses one.
    enum Refusal: Sendable {
        case duplicate
        case io

        var error: KeychainError { self == .duplicate ? KeychainError(.duplicateItem) : KeychainError(.io) }
    }

    /// The names that the scripted daemon has, and its faults by the name that is to be set.
    private final class Scene: Sendable {
        let names = Mutex(["web/a", "web/b", "web/c"])
        let faults: [String: Fault]
        let isGone = Mutex(false)
        let isAsked = DispatchSemaphore(value: 0)
        let mayAnswer = DispatchSemaphore(value: 0)

        init(_ faults: [String: Fault]) { self.faults = faults }

        func answer(_ peer: ScriptedPeer) throws {
            guard !isGone.withLock({ $0 }) else { return }
            try peer.welcome()
            while true {
                let request = try peer.next()
                switch request.head.method {
                case .copyItems:
                    let items = names.withLock { $0 }.map { name in
                        let rule = AccessControl(accessibility: .whenUnlocked)
                        return ScriptedItem(
                            attributes: [
                                .account: .string(name), .service: .string("touchstone"),
                                .accessControl: .data(rule.encoded),
                            ],
                            data: nil
                        )
                    }
                    try peer.reply(to: request, items: items, more: false)
                case .updateItems: try update(request, peer)
                default: try peer.reply(to: request)
                }
            }
        }

        private func update(_ request: ScriptedRequest, _ peer: ScriptedPeer) throws {
            let attributes = try request.read { reader in try UpdateItems(from: &reader).attributes }
            // Asks for what the secrets require.
            guard case .string(let name) = attributes[.account] else {
                return try peer.reply(to: request, CountBody(3))
            }
            switch faults[name] {
            case .refuses(let refusal): return try peer.refuse(request, refusal.error)
            case .hangsUp:
                set(name)
                throw WireError.closed
            case .goes:
                isGone.withLock { $0 = true }
                throw WireError.closed
            case .waits:
                isAsked.signal()
                mayAnswer.wait()
            case nil: break
            }
            set(name)
            try peer.reply(to: request, CountBody(1))
        }

        private func set(_ name: String) {
            names.withLock { names in
                names = names.map { $0.suffix(1) == name.suffix(1) ? name : $0 }
            }
        }
    }

    /// Runs `rename web/ site/`.
    private func rename(_ faults: [String: Fault]) async throws -> (CommandResult, names: [String]) {
        let scene = Scene(faults)
        let daemon = try ScriptedDaemon(home, script: scene.answer)
        let result = try await CommandRun("rename", "web/", "site/", home: home).run()
        _ = daemon
        return (result, scene.names.withLock { $0 })
    }

    private static let before = ["web/a", "web/b", "web/c"]

    @Test("without a fault all are renamed")
    func none() async throws {
        let (result, names) = try await rename([:])
        #expect(result.status == 0 && result.errors == "Renamed 3 secrets.\n")
        #expect(names == ["site/a", "site/b", "site/c"])
    }

    @Test("a name that another program takes meanwhile is told, and all get their names back")
    func taken() async throws {
        let (result, names) = try await rename(["site/b": .refuses(.duplicate)])
        #expect(result.status == 10)
        #expect(
            result.errors.hasPrefix("error: there is a secret named 'site/b' already; nothing was renamed\n"),
            "\(result.errors)"
        )
        #expect(names == Self.before)
    }

    @Test("a change whose answer is lost is taken back too")
    func hungUp() async throws {
        let (result, names) = try await rename(["site/b": .hangsUp])
        #expect(result.status != 0)
        #expect(result.errors.contains("; nothing was renamed\n"), "\(result.errors)")
        #expect(names == Self.before)
    }

    @Test("what cannot be taken back is counted")
    func left() async throws {
        let (result, names) = try await rename(["site/c": .refuses(.io), "web/b": .refuses(.io)])
        #expect(result.status == 1)
        #expect(
            result.errors.contains("; 1 of 3 secrets are renamed\nhint: do the rest with the same command\n"),
            "\(result.errors)"
        )
        #expect(names == ["web/a", "site/b", "web/c"])
    }

    @Test("a daemon that is gone leaves it open, and the hint says how to see it")
    func gone() async throws {
        let (result, _) = try await rename(["site/b": .goes])
        #expect(result.status != 0)
        #expect(
            result.errors.contains(
                "; some secrets may be renamed\nhint: touchstone list --tree; do the rest"
            ),
            "\(result.errors)"
        )
    }

    @Test(
        "a signal takes back what was done and then ends the command",
        arguments: [SIGINT, SIGTERM, SIGHUP]
    )
    func signal(number: Int32) async throws {
        let scene = Scene(["site/b": .waits])
        let daemon = try ScriptedDaemon(home, script: scene.answer)
        let started = try CommandRun("rename", "web/", "site/", home: home).start()
        try await BlockingCall { scene.isAsked.wait() }.value
        kill(started.processID, number)
        scene.mayAnswer.signal()
        let result = await started.result()
        #expect(result.signal == number, "\(result)")
        #expect(result.errors == "cancelled; nothing was renamed\n")
        #expect(scene.names.withLock { $0 } == Self.before)
        _ = daemon
    }

    @Test("more than 512 are refused before anything is changed")
    func many() async throws {
        let secrets = (0...512).map { ("w/\($0)", ScriptedKeychain.Secret(octets: [1])) }
        let keychain = try ScriptedKeychain(home, Dictionary(uniqueKeysWithValues: secrets))
        for command in ["rename", "copy"] {
            let result = try await CommandRun(command, "w/", "v/", home: home).run()
            #expect(result.status == 1)
            #expect(result.errors.contains("513 names begin with 'w/', and at most 512"), "\(result.errors)")
        }
        #expect(keychain.methods == [.copyItems, .copyItems])
    }
}
