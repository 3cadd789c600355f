import Foundation
import Glibc
import KeychainModel
import ScriptedDaemon
import Synchronization
import Testing
import TouchstoneTesting

@Suite("touchstone get")
struct GetTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    @Test("get writes exactly the stored bytes")
    func exact() async throws {
        let octets: [UInt8] = [0, 0xFF, 0x0A, 0x0A, 0x1B]
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: octets)])
        let result = try await CommandRun("get", "mail", home: home).run()
        #expect(result.status == 0)
        #expect(result.output == octets)
        #expect(result.errors.isEmpty)
        #expect(keychain.released == ["mail"])
    }

    @Test("get writes a secret of the maximum size")
    func large() async throws {
        let octets = [UInt8](repeating: 0x61, count: 900_000)
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: octets)])
        let result = try await CommandRun("get", "mail", home: home).run()
        #expect(result.output == octets)
        _ = keychain
    }

    @Test("get fails if standard output is closed or full", arguments: [">&-", "<&- >&-", ">/dev/full"])
    func closedOutput(redirection: String) async throws {
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: Array("secret".utf8))])
        for arguments in ["get mail", "get mail --show", "list", "--help"] {
            let script = "exec \"$0\" \(arguments) \(redirection)"
            var run = CommandRun("-c", script, Programs.touchstone, home: home)
            run.program = "/bin/sh"
            let result = try await run.run()
            #expect(result.status == 1)
            #expect(result.errors.hasPrefix("error: cannot write to standard output: "), "\(arguments)")
        }
        _ = keychain
    }

    @Test("get works with standard input and standard error closed")
    func closedOthers() async throws {
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: Array("secret".utf8))])
        var run = CommandRun("-c", "exec \"$0\" get mail <&- 2>&-", Programs.touchstone, home: home)
        run.program = "/bin/sh"
        let result = try await run.run()
        #expect(result.status == 0)
        #expect(result.text == "secret")
        _ = keychain
    }

    @Test(
        "get offers no passcode for a fingerprint-only secret, and ignores SIGTSTP while it waits"
    )
    func waiting() async throws {
        let terminal = try PseudoTerminal()
        let titles = Mutex<[String]?>(nil)
        let isStopped = DispatchSemaphore(value: 0)
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            let request = try peer.next()
            let asked = try request.body(CopyItems.self).prompt.fallbackTitles
            titles.withLock { $0 = asked ?? ["the usual one"] }
            isStopped.wait()
            try peer.refuse(request, .init(.itemNotFound))
        }
        var run = CommandRun("get", "mail", home: home)
        run.terminal = terminal
        let started = try run.start()
        let shown = try await Deadline.wait(for: "the request") { titles.withLock { $0 } }
        #expect(shown == [])
        kill(started.processID, SIGTSTP)
        isStopped.signal()
        #expect(await started.result().status == 3)
        _ = daemon
    }

    @Test("get refuses to write to a terminal before any request")
    func terminal() async throws {
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: Array("secret".utf8))])
        let terminal = try PseudoTerminal()
        var run = CommandRun("get", "mail", home: home)
        run.terminal = terminal
        run.drawsOnTerminal = true
        let result = try await run.run()
        #expect(result.status == 1)
        try await terminal.wait(for: "error: standard output is a terminal")
        try await terminal.wait(for: "--show")
        #expect(keychain.methods.isEmpty)
    }

    @Test("--show writes the secret to a terminal with a line end")
    func show() async throws {
        let keychain = try ScriptedKeychain(home, ["mail": .init(octets: Array("tr0ub4dor".utf8))])
        let terminal = try PseudoTerminal()
        var run = CommandRun("get", "mail", "--show", home: home)
        run.terminal = terminal
        run.drawsOnTerminal = true
        #expect(try await run.run().status == 0)
        try await Deadline.wait(for: "the line's end") { terminal.octets.last == 0x0A ? true : nil }
        #expect(terminal.octets == Array("tr0ub4dor\r\n".utf8))
        _ = keychain
    }

    @Test("the daemon is told the terminal from which the command was started")
    func origin() async throws {
        let terminal = try PseudoTerminal()
        let place = Mutex<PromptOrigin?>(nil)
        let daemon = try ScriptedDaemon(home) { peer in
            try peer.welcome()
            let request = try peer.next()
            let asked = try request.body(CopyItems.self).prompt.origin
            place.withLock { $0 = asked }
            try peer.refuse(request, .init(.itemNotFound))
        }
        var run = CommandRun("get", "mail", home: home)
        run.terminal = terminal
        run.environment = ["TERM": "xterm", "DISPLAY": ":7", "LC_ALL": "C.UTF-8"]
        #expect(try await run.run().status == 3)
        let origin = try #require(place.withLock { $0 })
        #expect(origin.terminal == terminal.name)
        #expect(origin.terminalType == "xterm")
        #expect(origin.display == ":7")
        #expect(origin.characterType == "C.UTF-8")
        _ = daemon
    }
}
