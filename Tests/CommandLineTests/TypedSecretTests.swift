import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// What is typed or pasted at the terminal is stored whole or not at all.
@Suite("Secrets typed and pasted at a terminal")
struct TypedSecretTests {
    private let home: TemporaryHome

    init() throws { home = try TemporaryHome() }

    private static let keyLines = (0..<30).map { "line \($0) " + String(repeating: "k", count: 56) }
    private static let pem =
        "-----BEGIN PRIVATE KEY-----\n" + keyLines.joined(separator: "\n") + "\n-----END PRIVATE KEY-----\n"

    /// A text as a terminal with bracketed paste sends it.
    private static func pasted(_ text: String) -> String {
        "\u{1B}[200~" + text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\r")
            + "\u{1B}[201~"
    }

    /// Types the same twice, and returns the status and what was stored.
    private func set(
        _ keys: String,
        _ options: String...,
        term: String = "xterm",
        asksTwice: Bool = true
    ) async throws -> (status: Int32?, stored: [[UInt8]], text: String, terminal: PseudoTerminal) {
        let home = try TemporaryHome()
        let keychain = try ScriptedKeychain(home)
        let terminal = try PseudoTerminal()
        var run = CommandRun(arguments: ["set", "mail"] + options, home: home)
        run.terminal = terminal
        run.input = .terminal
        run.drawsOnTerminal = true
        run.environment = ["TERM": term]
        let started = try run.start()
        for question in asksTwice ? ["Secret for 'mail':", "The same again:"] : ["Secret for 'mail':"] {
            try await terminal.wait(for: question)
            #expect(!terminal.isEchoing)
            terminal.press(.text(keys))
        }
        let status = await started.result().status
        #expect(terminal.isEchoing && terminal.isCanonical)
        // Nothing is left for the shell, which would run it.
        var waiting: CInt = 0
        let descriptor = open(terminal.name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        defer { close(descriptor) }
        #expect(ioctl(descriptor, UInt(FIONREAD), &waiting) == 0 && waiting == 0)
        // What the command wrote at its end may still be on its way.
        let end = term == "dumb" ? "\n" : "\u{1B}[?2004l"
        let shown = try await Deadline.wait(for: "the command's last output") {
            let shown = String(decoding: terminal.octets, as: UTF8.self)
            return shown.contains(end) ? shown : nil
        }
        #expect(shown.contains("\u{1B}[?2004h") == (term != "dumb"))
        return (status, keychain.added, terminal.text, terminal)
    }

    @Test(
        "a line of any length is stored whole",
        arguments: CaseSize.of([4094, 4096, 8192], full: [1, 80, 1023, 4094, 4095, 4096, 4097, 8192]),
        ["xterm", "dumb"]
    )
    func length(count: Int, term: String) async throws {
        let secret = String((0..<count).map { "abcdefghijklmnopqrstuvwxyz"[$0 % 26] })
        for keys in [secret + "\r", secret + "\n", Self.pasted(secret) + "\r"] {
            guard term != "dumb" || !keys.contains("\u{1B}") else { continue }
            let (status, stored, text, _) = try await set(keys, term: term)
            #expect(status == 0, "\(text)")
            #expect(stored == [Array(secret.utf8)])
        }
    }

    @Test(
        "several pasted lines are stored whole",
        arguments: ["a\nb", "a\n", "\n\na\n\n", pem, "a\tb\n\u{3}\u{4}\u{15}\u{16}\u{7F}\u{11}\u{13}é"]
    )
    func lines(secret: String) async throws {
        // The interrupt key stays one, also in a paste.
        let secret = secret.filter { $0 != "\u{3}" }
        let trimmed = secret.hasSuffix("\n") ? String(secret.dropLast()) : secret
        let pasted = try await set(Self.pasted(secret) + "\r")
        #expect(pasted.status == 0, "\(pasted.text)")
        #expect(pasted.stored == [Array(trimmed.utf8)])
        let exact = try await set(Self.pasted(secret) + "\r", "--exact")
        #expect(exact.stored == [Array(secret.utf8)])
        let windows = try await set(Self.pasted(secret.replacingOccurrences(of: "\n", with: "\r\n")) + "\r")
        #expect(windows.stored == [Array(trimmed.utf8)])
    }

    @Test(
        "what would be stored in part is refused with a way: lines without brackets, keys without text, too much",
        arguments: [
            ("one\rtwo\r", "more input came", 1), ("one\ntwo", "more input came", 1),
            ("one\rone\r", "more input came", 1), ("one\r\r", "more input came", 1),
            (pem.replacingOccurrences(of: "\n", with: "\r"), "more input came", 1),
            ("on\u{1B}[De\r", "no text", 1), ("a\u{1B}OPb\r", "no text", 1),
            ("\r", "empty", 1), ("half\u{4}", "cancelled", 4),
        ]
    )
    func refused(keys: String, words: String, status: Int32) async throws {
        for term in ["xterm", "dumb"] {
            let result = try await set(keys, term: term, asksTwice: false)
            #expect(result.status == status)
            #expect(result.stored.isEmpty)
            try await Deadline.wait(for: words) { result.terminal.text.contains(words) ? true : nil }
            guard status == 1 else { continue }
            try await Deadline.wait(for: "a hint") { result.terminal.text.contains("hint: ") ? true : nil }
        }
    }

    @Test("more than a secret may have is refused while it is pasted")
    func tooLarge() async throws {
        let home = try TemporaryHome()
        let keychain = try ScriptedKeychain(home)
        let terminal = try PseudoTerminal()
        var run = CommandRun("set", "mail", home: home)
        run.terminal = terminal
        run.input = .terminal
        run.drawsOnTerminal = true
        let started = try run.start()
        try await terminal.wait(for: "Secret for 'mail':")
        let descriptor = open(terminal.name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
        defer { close(descriptor) }
        // Pieces that the terminal takes whole, each once the former one was read, until it is enough; on a thread of its
        // own, because the pool's are busy with other tests.
        let refusal = "the secret is too large; nothing was stored"
        let pasting = BlockingCall {
            let end = ContinuousClock.now + Deadline.patience
            var waiting: CInt = 0
            while !terminal.text.contains(refusal), ContinuousClock.now < end {
                terminal.pressBlindly(.text(String(repeating: "x", count: 2000)))
                repeat {
                    sched_yield()
                } while ioctl(descriptor, UInt(FIONREAD), &waiting) == 0 && waiting > 0
                    && ContinuousClock.now < end
            }
        }
        try await pasting.value
        try await terminal.wait(for: refusal)
        #expect(await started.result().status == 1)
        #expect(keychain.added.isEmpty && terminal.isEchoing)
    }

    @Test(
        "keys erase a character, a word or the line, and the next key is taken as it is after Ctrl-V",
        arguments: [
            ("abx\u{7F}c\r", "abc"), ("abé日\u{7F}\u{8}c\r", "abc"), ("one two\u{17}three\r", "one three"),
            ("wrong\u{15}right\r", "right"), ("a\u{16}\u{15}\u{16}\u{1B}\u{16}\rb\r", "a\u{15}\u{1B}\rb"),
            ("\u{7F}\u{17}a\r", "a"),
        ]
    )
    func editing(keys: String, secret: String) async throws {
        let result = try await set(keys)
        #expect(result.status == 0, "\(result.text)")
        #expect(result.stored == [Array(secret.utf8)])
    }

    @Test("a file typed at a terminal is refused when the terminal cuts a line")
    func typedFile() async throws {
        let keychain = try ScriptedKeychain(home, ["a": .init(octets: [0x31])])
        for (count, status) in [(4094, Int32(0)), (4095, 1), (5000, 1)] {
            let terminal = try PseudoTerminal()
            var run = CommandRun(
                "run",
                "--env-file",
                "-",
                "--",
                "sh",
                "-c",
                "test ${#B} -gt 4000",
                home: home
            )
            run.terminal = terminal
            run.input = .terminal
            run.drawsOnTerminal = true
            let started = try run.start()
            terminal.press(.text("B=" + String(repeating: "x", count: count - 2) + "\r"))
            terminal.press(.endOfFile)
            #expect(await started.result().status == status, "\(count)")
            if status == 1 { try await terminal.wait(for: "is a terminal, which cut a line") }
        }
        _ = keychain
    }
}

extension String {
    fileprivate subscript(_ offset: Int) -> Character { self[index(startIndex, offsetBy: offset)] }
}
