import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// From each state a command is refused in, its hints are followed: every hint leads to another message or to success.
@Suite(
    "Following hints",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct HintWalkTests {
    enum State: CaseIterable, Sendable {
        case notSetUp, locked, fingersChanged, fingersLockedOut, keybagDamaged, keybagLost, deviceKeyMissing,
            itemsDamaged

        /// A command that the state refuses, without a prompt.
        var command: [String] {
            ["get", self == .fingersChanged || self == .fingersLockedOut ? "by-finger" : "mail"]
        }
    }

    /// A keychain with its sensor, and two secrets unless there is to be none.
    private struct Place {
        let keychain: RealKeychain
        let fprintd: ScriptedFprintd

        init(isSetUp: Bool) async throws {
            let bus = try await PrivateBus.start(sensors: [])
            fprintd = try await ScriptedFprintd.start(on: bus)
            keychain = isSetUp ? try await .ready(bus: bus) : try RealKeychain(bus: bus)
            guard isSetUp else { return }
            for (name, requirement) in [("mail", "none"), ("by-finger", "finger")] {
                let result = try await keychain.run("set", name, "--require", requirement, input: "kept")
                guard result.status == 0 else { throw TestKitError.unexpected(result.errors) }
            }
        }

        var data: String { keychain.home.layout.dataDirectory }

        func enter(_ state: State) async throws {
            switch state {
            case .notSetUp: break
            case .locked: _ = try await keychain.run("lock")
            case .fingersChanged:
                fprintd.change { $0.sensors = [.init(fingers: ["right-index-finger", "left-thumb"])] }
                // A secret of the new set, which is seen as new while it is stored.
                _ = try await keychain.run(
                    "set",
                    "by-finger",
                    "--replace",
                    "--require",
                    "finger",
                    input: "kept"
                )
            case .fingersLockedOut:
                fprintd.change { $0.verifications = Array(repeating: .init([.noMatch]), count: 5) }
                try ScriptedPinentry.tell(
                    [.usual, .waits, .waits, .waits, .waits, .waits, .cancels],
                    home: keychain.home.path
                )
                _ = try await keychain.run("get", "by-finger")
                try ScriptedPinentry.tell([], home: keychain.home.path)
            case .keybagDamaged, .keybagLost, .deviceKeyMissing, .itemsDamaged:
                try keychain.stop(with: SIGTERM)
                switch state {
                // In the code that tells damage, so that the recovery code opens what is left.
                case .keybagDamaged: try damage(["keybag", "keybag.copy"], from: { $0 - 1 })
                case .keybagLost: try damage(["keybag", "keybag.copy"], from: { _ in 0 })
                case .itemsDamaged: try damage(["items.sqlite"], from: { $0 / 2 })
                default: try FileManager.default.removeItem(atPath: data + "/device.key")
                }
            }
        }

        private func damage(_ names: [String], from start: (Int) -> Int) throws {
            for name in names {
                let url = URL(fileURLWithPath: data + "/" + name)
                var octets = try Data(contentsOf: url)
                for index in stride(from: start(octets.count), to: octets.count, by: 97) {
                    octets[index] ^= 1
                }
                try octets.write(to: url)
            }
        }
    }

    @Test("a hint that names a command changes what is said, until it works", arguments: State.allCases)
    func walk(state: State) async throws {
        let place = try await Place(isSetUp: state != .notSetUp)
        try await place.enter(state)
        var said: [String] = []
        for _ in 0..<6 {
            let result = try await place.keychain.run(all: state.command, hasTerminal: false)
            guard result.status != 0, result.status != 3 else { break }
            let lines = result.errors.split(separator: "\n").map(String.init)
            #expect(!said.contains(lines[0]), "\(state): '\(lines[0])' again after \(said)")
            guard !said.contains(lines[0]) else { break }
            said.append(lines[0])
            guard try await follow(result, at: place.keychain, after: []) else { break }
        }
        #expect(!said.isEmpty, "\(state) refuses nothing")
        switch state {
        case .locked, .fingersChanged, .fingersLockedOut, .keybagDamaged, .deviceKeyMissing:
            // With a terminal it works now.
            if state == .fingersChanged || state == .fingersLockedOut {
                try ScriptedPinentry.tell([.usual, .waits], home: place.keychain.home.path)
                place.fprintd.change { $0.verifications = [.init([.match])] }
            }
            let last = try await place.keychain.run(all: state.command)
            #expect(last.text == "kept", "\(state): \(said), \(last)")
        case .notSetUp, .keybagLost: #expect(try await place.keychain.run(all: state.command).status == 3)
        case .itemsDamaged: break
        }
    }

    /// Runs what a refusal suggests, and what that suggests if it is refused too; no command leads back to itself.
    ///
    /// - Returns: whether a command was suggested; false where only a terminal is missing.
    private func follow(
        _ refused: CommandResult,
        at keychain: RealKeychain,
        after former: [[String]]
    ) async throws -> Bool {
        let lines = (refused.errors + refused.text).split(separator: "\n").map(String.init)
        let suggested = lines.filter { !$0.hasPrefix("error: ") }.flatMap(Self.commands)
        guard let next = suggested.first(where: { !former.contains($0) }) else {
            #expect(suggested.isEmpty, "\(former) leads to \(suggested) alone")
            return false
        }
        try ScriptedPinentry.tell([], home: keychain.home.path)
        let result = try await keychain.run(all: next)
        guard result.status != 0 else { return true }
        return try await follow(result, at: keychain, after: former + [next])
    }

    /// The commands that a line suggests and that can be run as they are.
    private static func commands(in line: String) -> [[String]] {
        line.matches(of: /touchstone ([a-z-]+)/).map { [String($0.1)] }.filter {
            !["set", "delete", "migrate", "apps", "get"].contains($0[0])
        }
    }

    @Test(
        "get asks for the passcode itself when fingers wait for it, and unlock does",
        arguments: [State.fingersChanged, .fingersLockedOut],
        [true, false]
    )
    func waiting(state: State, unlocks: Bool) async throws {
        let place = try await Place(isSetUp: true)
        try await place.enter(state)
        let before = place.keychain.prompts
        if unlocks {
            #expect(try await place.keychain.run("unlock").status == 0)
            #expect(place.keychain.prompts == before + 1, "unlock asked")
            #expect(try await place.keychain.run("unlock").status == 0)
            #expect(place.keychain.prompts == before + 1, "nothing waits any more")
        }
        // The passcode: for the fingers, or because none was typed on the new terminal yet.
        try ScriptedPinentry.tell([.usual, .waits], home: place.keychain.home.path)
        place.fprintd.change { $0.verifications = [.init([.match])] }
        let result = try await place.keychain.run("get", "by-finger")
        #expect(result.text == "kept", "\(result)")
    }

    @Test(
        "a cancelled passcode before a finger is a cancelled command, and without a terminal the hint stays"
    )
    func refused() async throws {
        let place = try await Place(isSetUp: true)
        try await place.enter(.fingersChanged)
        try place.keychain.setCancels(true)
        #expect(try await place.keychain.run("get", "by-finger").status == 4)
        try place.keychain.setCancels(false)
        let hidden = try await place.keychain.run("get", "by-finger", hasTerminal: false)
        #expect(hidden.status == 8 || hidden.status == 6)
        #expect(hidden.errors.contains("hint: "))
    }
}
