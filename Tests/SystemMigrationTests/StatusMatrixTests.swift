import Foundation
import Glibc
import Testing
import TouchstoneTesting

/// The states of a keychain, as each half of a move, or a person, leaves directories and files.
enum MoveState: String, CaseIterable, Sendable {
    case perUser, begun, bypassed, enabling, systemUnchecked, system, disabling, returned, twofold, lost

    /// Brings a machine into this state.
    func make(on machine: MoveMachine) throws {
        let files = FileManager.default
        switch self {
        case .system, .twofold, .lost: try machine.resetInSystemMode()
        default: try machine.reset()
        }
        func copy(_ name: String) throws -> String {
            let path = "\(machine.system)/\(name)"
            try machine.makeSystemDirectory()
            try machine.make(path, owner: MoveMachine.keeper)
            return path
        }
        switch self {
        case .perUser, .system: break
        case .begun: try files.removeItem(atPath: try copy("\(MoveMachine.user).new") + "/keybag")
        case .bypassed:
            let path = try copy("\(MoveMachine.user)")
            for name in MoveMachine.files { try files.removeItem(atPath: path + "/" + name) }
        case .enabling:
            _ = try copy("\(MoveMachine.user).new")
            try machine.mark()
        case .systemUnchecked:
            _ = try copy("\(MoveMachine.user)")
            try machine.mark()
            try "\(machine.own)\n".write(
                toFile: "\(machine.system)/\(MoveMachine.user).moving",
                atomically: false,
                encoding: .utf8
            )
        case .disabling:
            _ = try copy("\(MoveMachine.user).old")
            try machine.mark()
        case .returned: _ = try copy("\(MoveMachine.user).back")
        case .twofold: for name in MoveMachine.files { try machine.put(name) }
        case .lost: try files.removeItem(atPath: machine.kept)
        }
    }

    /// The commands that continue or undo from here; empty if a person must act.
    var commands: [(step: String, isLast: Bool)] {
        switch self {
        case .perUser: [("enable", true)]
        case .begun, .bypassed, .enabling, .disabling: [("enable", true), ("disable", true)]
        case .systemUnchecked, .system: [("disable", true)]
        case .returned: [("enable", true)]
        case .twofold, .lost: []
        }
    }

    /// The expected output of `status`.
    var advice: [String] {
        switch self {
        case .perUser: ["off: the keychain is this user's own"]
        case .system: ["on: the keychain is in"]
        case .begun:
            ["sudo touchstone system enable goes on", "sudo touchstone system disable removes the copy"]
        case .bypassed:
            [
                "programs find an empty keychain", "sudo touchstone system enable moves it",
                "sudo touchstone system disable turns that off",
            ]
        case .enabling:
            [
                "the move to", "sudo touchstone system enable finishes it",
                "sudo touchstone system disable undoes it",
            ]
        case .systemUnchecked: ["the former keychain is still in", "sudo touchstone system enable"]
        case .disabling:
            [
                "the move back to", "sudo touchstone system disable finishes it",
                "sudo touchstone system enable undoes it",
            ]
        case .returned: ["is kept until", "sudo touchstone system disable"]
        case .twofold: ["has another keychain", "elsewhere, all but the file 'moved'"]
        case .lost: ["is missing there", "bring a backup", "remove"]
        }
    }
}

@Suite(
    "touchstone system status",
    .serialized,
    .enabled(if: MoveMachine.isPossible, "needs root, strace and mounts of its own"),
    .timeLimit(.minutes(20))
)
struct StatusMatrixTests {
    @Test(
        "status reports each state and the next command, and that command continues",
        arguments: MoveState.allCases
    )
    func matrix(state: MoveState) async throws {
        let machine = try MoveMachine()
        try state.make(on: machine)
        let text = try await machine.run("status", []).text
        for words in state.advice { #expect(text.contains(words), "\(words) in \(text)") }
        let json = try await machine.run("status", ["--json"]).text
        #expect(json.contains("\"standing\": \"\(state)\""), "\(json)")
        // The user gets the same report, except for the content of the account's directory.
        // The user may not access the build directory.
        let asUser = [
            "/bin/sh", "-ec",
            """
            cp "$1" /run/command; chmod 755 /run/command; shift
            exec setpriv --reuid=\(MoveMachine.user) --regid=\(MoveMachine.user) --clear-groups /run/command "$@"
            """,
            "sh",
        ]
        let own = try await machine.run("status", ["--json"], tracer: asUser).text
        let wanted: MoveState = state == .bypassed ? .twofold : state
        #expect(own.contains("\"standing\": \"\(wanted)\""), "\(own)")

        for command in state.commands {
            try state.make(on: machine)
            let (_, said) = try await machine.run(command.step)
            #expect(machine.faults.isEmpty, "\(command.step): \(machine.faults) \(said)")
            let isThere =
                command.step == "enable"
                ? machine.isWhole(machine.kept, owner: MoveMachine.keeper)
                : machine.isWhole(machine.own, owner: MoveMachine.user)
                    && !PrivateMove.names(machine.own).contains("moved")
            #expect(isThere, "\(command.step): \(said)")
        }
        guard state.commands.isEmpty else { return }
        // Neither command changes anything.
        for step in ["enable", "disable"] {
            let before = (PrivateMove.content(machine.own), PrivateMove.content(machine.kept))
            let (status, said) = try await machine.run(step)
            #expect(status == (state == .lost ? 3 << 8 : 1 << 8), "\(said)")
            #expect(said.contains("hint: "), "\(said)")
            #expect(before == (PrivateMove.content(machine.own), PrivateMove.content(machine.kept)))
        }
    }
}

@Suite(
    "touchstone system on a faulty machine",
    .serialized,
    .enabled(if: MoveMachine.isPossible, "needs root, strace and mounts of its own"),
    .timeLimit(.minutes(60))
)
struct HostileMoveTests {
    /// Calls that change something.
    private static let changes = [
        "mkdir", "mkdirat", "fchown", "fchmod", "fsync", "renameat", "unlinkat", "sendfile", "write",
    ]

    @Test(
        "a failed call is reported, one keychain stays active, and the command continues later",
        arguments: ["enable", "disable"]
    )
    func failing(step: String) async throws {
        let machine = try MoveMachine()
        var kinds: Set<String> = []
        for (index, call) in Self.changes.enumerated() {
            let fault = ["ENOSPC", "EDQUOT", "EROFS", "EIO"][index % 4]
            for number in stride(from: 1, to: 2000, by: CaseSize.of(4, full: 1)) {
                if step == "enable" { try machine.reset() } else { try machine.resetInSystemMode() }
                let log = machine.home.appending("calls")
                let strace = [
                    "/usr/bin/strace", "-qq", "-o", log, "-e", "trace=\(call)", "-e",
                    "inject=\(call):error=\(fault):when=\(number)",
                ]
                let (status, text) = try await machine.run(step, tracer: strace)
                let calls = try String(contentsOfFile: log, encoding: .utf8)
                guard calls.contains("(INJECTED)") else { break }
                kinds.insert(call)
                // Output to a terminal may be lost, and so may overwriting a file that is removed anyway.
                if call != "write" {
                    #expect([0, 1 << 8, 7 << 8].contains(status), "\(call) \(number): \(status) \(text)")
                }
                #expect(machine.faults.isEmpty, "\(call) \(number) \(fault): \(machine.faults) \(text)")
                if status == 1 << 8 {
                    #expect(text.contains("error: "), "\(call) \(number): \(text)")
                    let isOfRoom = fault == "ENOSPC" || fault == "EDQUOT"
                    #expect(text.contains("there is no room") == isOfRoom, "\(call) \(number): \(text)")
                }
                _ = try await machine.run(step)
                #expect(machine.faults.isEmpty, "again after \(call) \(number): \(machine.faults)")
                let place =
                    step == "enable"
                    ? machine.isWhole(machine.kept, owner: MoveMachine.keeper)
                    : machine.isWhole(machine.own, owner: MoveMachine.user)
                #expect(place, "again after \(call) \(number)")
            }
        }
        #expect(kinds.isSuperset(of: ["fsync", "renameat", "sendfile", "unlinkat"]), "\(kinds)")
    }

    @Test(
        "a home with another user's files is not moved, and a target that is not writable is reported",
        arguments: [
            ("chown 4999 $own/device.key", "device.key: Permission denied"),
            ("chown 4999 $own/device.key; chmod 644 $own/device.key", "belongs to user 4999"),
            ("chown 4999 $own; chmod 755 $own", "belongs to user 4999"),
            ("rm $own/device.key; ln /etc/hostname.secret $own/device.key", "device.key: Permission denied"),
            ("mv $own $own.real; ln -s $own.real $own", "is not a directory"),
            ("mv $own $own.real; mkfifo $own", "is not a directory"),
            ("rm $own/keybag; mkfifo $own/keybag", "is not a plain file"),
            ("chmod 700 $own/..; chown 0:0 $own/..", "Permission denied"),
            ("mount --bind /var/lib /var/lib; mount -o remount,ro,bind /var/lib", "Read-only file system"),
        ]
    )
    func places(damage: (command: String, message: String)) async throws {
        let machine = try MoveMachine()
        try machine.reset()
        let before = """
            own=\(machine.own); cp /dev/null /run/secret; mkdir -p /var/lib/touchstone
            case '\(damage.command)' in *hostname.secret*) echo secret >\(machine.home.path)/secret; chmod 600 \(machine.home.path)/secret;; esac
            \(damage.command.replacing("/etc/hostname.secret", with: machine.home.path + "/secret"))
            """
        let (status, text) = try await machine.run("enable", before: before)
        #expect(status == 1 << 8 && text.contains("error: "), "\(text)")
        #expect(text.contains(damage.message), "\(text)")
        #expect(access(machine.kept, F_OK) != 0)
        #expect(!PrivateMove.names(machine.own).contains("moved"))
    }

    @Test("a move works with /var mounted noexec")
    func noExecution() async throws {
        let machine = try MoveMachine()
        try machine.reset()
        let before = "mount --bind /var/lib /var/lib; mount -o remount,noexec,nosuid,nodev,bind /var/lib"
        let (status, text) = try await machine.run("enable", before: before)
        #expect(status == 7 << 8 && text.contains("the keychain was moved"), "\(text)")
        #expect(machine.isWhole(machine.kept, owner: MoveMachine.keeper))
    }
}
