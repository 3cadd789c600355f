import Glibc
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting

@testable import PinentryDriver

/// A scripted program that gives rare and invalid responses.
@Suite("Unusual responses of pinentry")
struct ScriptedPinentryTests {
    private let terminal: PseudoTerminal
    /// The typed text, which some tests search for afterwards.
    private let marker = "hunter2-marker"

    init() throws { terminal = try PseudoTerminal() }

    private func ask(
        _ scripted: ScriptedPinentry,
        _ prompt: Prompt = .unlock()
    ) async throws -> Answer {
        try await Answer(PinentryPrompter(program: .testing(scripted.path)), prompt, at: terminal)
    }

    @Test("the commands are in order, and none lets a desktop store the passcode")
    func order() async throws {
        let scripted = try ScriptedPinentry(["GETPIN": "printf 'D a\\nOK\\n'"])
        let prompt = Prompt(
            .newSecret,
            requester: "app",
            reason: "100 %",
            heading: "Choose",
            fieldLabel: "New:",
            error: "Too short.",
            cancelTitle: "Later",
            timeout: .milliseconds(29_500)
        )
        _ = try await ask(scripted, prompt)
        #expect(
            scripted.received == [
                "OPTION ttyname=\(terminal.name)", "OPTION ttytype=xterm", "OPTION lc-ctype=C.UTF-8",
                "OPTION no-grab", "GETINFO flavor", "SETTITLE Touchstone", "SETTIMEOUT 30", "SETPROMPT New:",
                "SETERROR Too short.", "SETREPEAT Again:", "SETREPEATERROR The two are not the same.",
                "SETOK _OK", "SETCANCEL _Later",
                "SETDESC Choose%0A%0ARequested by app%0AReason it gives: \"100 %25\"", "GETPIN",
                "SETPROMPT Again:", "GETPIN", "BYE",
            ]
        )
    }

    @Test("a program that asks for the repetition itself is not asked again")
    func repeated() async throws {
        let scripted = try ScriptedPinentry(["GETPIN": "printf 'S PIN_REPEATED\\nD a\\nOK\\n'"])
        #expect(try await ask(scripted, .unlock(.newSecret)) == .entered("a"))
        #expect(scripted.received.filter { $0 == "GETPIN" }.count == 1)
    }

    @Test("status lines and comments are accepted anywhere")
    func statusLines() async throws {
        let scripted = try ScriptedPinentry(
            [
                "OPTION": "printf 'S WORKING 1\\n# a note\\nOK\\n'",
                "SETDESC": "printf '#\\n\\nS x\\nOK ok\\n'",
                "GETPIN": "printf '# c\\nS BUTTON_INFO x\\nD sec\\nS KEEPALIVE\\n# d\\nD ret\\n\\nOK\\n'",
            ],
            greeting: "printf '# hello\\nS x\\nOK at your service\\n'"
        )
        #expect(try await ask(scripted) == .entered("secret"))
    }

    @Test("a long secret is accepted in pieces, with escapes and CRLF line ends")
    func pieces() async throws {
        let piece = String(repeating: "x", count: 990)
        let scripted = try ScriptedPinentry([
            "GETPIN": "printf 'D \(piece)\\r\\nD %%25%%0A%%0d\\r\\nD \(piece)\\r\\nOK\\r\\n'"
        ])
        #expect(try await ask(scripted) == .entered(piece + "%\n\r" + piece))
    }

    @Test("an empty entry is returned as such")
    func empty() async throws {
        #expect(try await ask(ScriptedPinentry(["GETPIN": "echo OK"])) == .entered(""))
        #expect(try await ask(ScriptedPinentry(["GETPIN": "printf 'D \\nOK\\n'"])) == .entered(""))
    }

    @Test(
        "error codes become answers",
        arguments: [
            (83_886_179, Answer.cancelled), (83_886_278, .cancelled), (83_886_194, .cancelled),
            (99, .cancelled),
            (83_886_142, .timedOut),
        ]
    )
    func codes(code: Int, answer: Answer) async throws {
        for (input, command) in [
            (Prompt.Input.secret, "GETPIN"), (.confirmation, "CONFIRM"), (.touch, "CONFIRM"),
        ] {
            let scripted = try ScriptedPinentry([command: "echo 'ERR \(code) text <Pinentry>'"])
            #expect(try await ask(scripted, .unlock(input)) == answer)
        }
    }

    @Test("a missing terminal is distinguished from cancelling")
    func noTerminal() async throws {
        let scripted = try ScriptedPinentry(["GETPIN": "echo 'ERR 83918950 Inappropriate ioctl'"])
        await #expect(throws: PromptError(.notInteractive)) { try await ask(scripted) }
        let option = try ScriptedPinentry(["OPTION": "echo 'ERR 83918992 No such device'"])
        await #expect(throws: PromptError(.notInteractive)) { try await ask(option) }
    }

    @Test(
        "a protocol violation fails, ends the program, and reveals nothing of what was typed",
        arguments: [
            "printf 'D MARK%%zz\\nOK\\n'", "printf 'D MARK%%\\nOK\\n'", "printf 'D MARK\\n'; exit 0",
            "printf 'D MARK'; exit 0", "printf 'D MARK\\nERR 1 MARK\\n'", "printf 'D MARK\\nMARK\\n'",
            "printf 'D MARK\\nINQUIRE MARK\\n'", "printf 'D MARK\\n\\377\\377\\n'",
            "printf 'D \\377MARK\\nOK\\n'",
            "printf 'ERR MARK\\n'", "kill -9 $$", "exec 0<&- 1>&-; kill $$",
            "head -c 104857600 /dev/zero", "yes 'D MARK'", "yes '# MARK'", "yes 'S MARK'", "yes ''",
            "printf 'D %01000d\\n' 0; echo OK",
        ]
    )
    func broken(answer: String) async throws {
        let scripted = try ScriptedPinentry([
            "GETPIN": answer.replacing("MARK", with: marker)
        ])
        let error = await #expect(throws: PromptError(.prompterFailed)) { try await ask(scripted) }
        let failure = try #require(error)
        #expect(!"\(failure)".contains("hunter2") && !failure.detail.contains("hunter2"))
        #expect(!failure.detail.isEmpty)
        let process = try #require(scripted.processIdentifier)
        #expect(kill(process, 0) == -1 && errno == ESRCH)
    }

    @Test("a program without a greeting, or that refuses a required command, fails")
    func refused() async throws {
        for greeting in ["exit 1", "echo 'ERR 83886085 no'", "echo garbage"] {
            let scripted = try ScriptedPinentry(greeting: greeting)
            await #expect(throws: PromptError(.prompterFailed), "\(greeting)") { try await ask(scripted) }
        }
        for command in ["SETDESC", "GETPIN"] {
            let scripted = try ScriptedPinentry([command: "echo 'ERR 83886355 Unknown command'"])
            let error = await #expect(throws: PromptError(.prompterFailed)) { try await ask(scripted) }
            #expect(error?.detail.contains("\(command) with error 83886355") == true)
        }
    }

    @Test("unknown optional commands are ignored")
    func unknownCommands() async throws {
        let unknown = "echo 'ERR 83886355 Unknown command'"
        let scripted = try ScriptedPinentry([
            "SETTITLE": unknown, "SETTIMEOUT": unknown, "SETREPEAT": unknown, "SETREPEATERROR": unknown,
            "SETOK": unknown, "SETCANCEL": unknown, "SETERROR": unknown, "GETINFO": unknown,
            "GETPIN": "printf 'D a\\nOK\\n'",
        ])
        #expect(try await ask(scripted, .unlock(.newSecret)) == .entered("a"))
    }

    @Test("a silent program is ended by our own timer, as a timeout")
    func silent() async throws {
        let scripted = try ScriptedPinentry(["GETPIN": "trap '' TERM; while :; do read -r line || :; done"])
        // The shortest timeout of a prompt, and the timer's five seconds more.
        #expect(try await ask(scripted, .unlock(timeout: .seconds(1))) == .timedOut)
        let process = try #require(scripted.processIdentifier)
        #expect(kill(process, 0) == -1 && errno == ESRCH)
    }

    @Test("cancelling the task ends a program that ignores SIGTERM, and its children")
    func stubborn() async throws {
        let scripted = try ScriptedPinentry([
            "GETPIN": "trap '' TERM; sleep 1000 & echo $! > \"$directory/notes\"; while :; do wait; done"
        ])
        let (terminal, path) = (terminal, scripted.path)
        let task = Task {
            try await Answer(PinentryPrompter(program: .testing(path)), .unlock(), at: terminal)
        }
        try await eventually { !scripted.notes.isEmpty }
        task.cancel()
        await #expect(throws: PromptError(.dismissed)) { try await task.value }
        let process = try #require(scripted.processIdentifier)
        #expect(kill(process, 0) == -1 && errno == ESRCH)
        let child = try #require(scripted.notes.first.flatMap { Int32($0) })
        try await eventually { ChildProcess.hasEnded(child) }
    }

    @Test("a missing display falls back to the terminal")
    func displayGone() async throws {
        let scripted = try ScriptedPinentry(
            ["GETPIN": "printf 'D a\\nOK\\n'"],
            greeting: "if [ -n \"$DISPLAY\" ]; then exit 1; fi; echo OK"
        )
        var origin = terminal.origin
        origin.display = ":99"
        let prompter = PinentryPrompter(program: .testing(scripted.path))
        #expect(try await Answer(prompter, .unlock(), at: origin) == .entered("a"))
    }

    @Test("concurrent prompts do not mix")
    func concurrent() async throws {
        try await withThrowingTaskGroup(of: (Int, Answer).self) { group in
            for number in 0..<8 {
                let terminal = terminal
                group.addTask {
                    let scripted = try ScriptedPinentry(["GETPIN": "printf 'D \(number)\\nOK\\n'"])
                    let prompter = PinentryPrompter(program: .testing(scripted.path))
                    return (number, try await Answer(prompter, .unlock(), at: terminal))
                }
            }
            for try await (number, answer) in group { #expect(answer == .entered("\(number)")) }
        }
    }
}

/// Differences between the pinentry programs.
@Suite("Pinentry flavours")
struct FlavorTests {
    private let terminal: PseudoTerminal
    private let judge = NewSecretJudge(rule: "A passcode has three letters.") { octets in
        NewSecretJudge.Verdict(
            percent: octets.count * 10,
            refusal: octets.count < 3 ? "Too short: use three." : nil
        )
    }

    init() throws { terminal = try PseudoTerminal() }

    private func ask(_ flavor: String, _ prompt: Prompt, _ answers: [String: String]) async throws
        -> (answer: Answer, lines: [String], notes: [String])
    {
        var answers = answers
        answers["GETINFO"] = "printf 'D \(flavor)\\nOK\\n'"
        let scripted = try ScriptedPinentry(answers)
        let prompter = PinentryPrompter(program: .testing(scripted.path))
        let answer = try await Answer(prompter, prompt, at: terminal)
        return (answer, scripted.received, scripted.notes)
    }

    @Test("GNOME's prompt has the heading as its title, and no second button that also cancels")
    func gnome() async throws {
        let once = "n=$((n+1)); if [ $n = 2 ]; then echo 'ERR 83886179 x'; else echo OK; fi"
        let heading = "Touch the fingerprint sensor"
        let touch = Prompt(.touch, requester: "app", heading: heading, fallbackTitles: [])
        let (answer, lines, _) = try await ask("gnome3", touch, ["CONFIRM": once])
        // The affirmative button closes the window, which is then shown again.
        #expect(answer == .cancelled)
        #expect(lines.filter { $0 == "CONFIRM" }.count == 2)
        #expect(lines.contains("SETPROMPT Touch the fingerprint sensor"))
        #expect(lines.contains("SETOK _Keep Waiting") && lines.contains("SETCANCEL _Cancel"))
        #expect(lines.contains("SETDESC Requested by app"))
        let (_, others, _) = try await ask("gtk2", touch, ["CONFIRM": "echo 'ERR 83886179 x'"])
        #expect(others.contains("CONFIRM --one-button") && others.contains("SETOK _Cancel"))
        #expect(others.contains("SETDESC Touch the fingerprint sensor%0A%0ARequested by app"))
    }

    @Test(
        "several fallbacks are offered on pages with buttons and without a field",
        arguments: ["gtk2", "qt", "curses", "tty", "gnome3"]
    )
    func pages(flavor: String) async throws {
        let titles = ["Card", "Next_one", "Your passcode:"]
        let touch = Prompt(.touch, requester: "app", reason: "Pay", heading: "Unlock", fallbackTitles: titles)
        let isGNOME = flavor == "gnome3"
        let next = isGNOME ? "ERR 83886179 x" : "ERR 83886194 x"
        let third = "n=$((n+1)); case $n in 2|3) echo '\(next)' ;; *) echo OK ;; esac"
        let (answer, lines, _) = try await ask(flavor, touch, ["CONFIRM": third])
        #expect(answer == .fallback(2))
        #expect(lines.filter { $0 == "CONFIRM" }.count == 4 && !lines.contains("GETPIN"))
        #expect(
            lines.filter { $0.hasPrefix("SETOK") } == [
                "SETOK _Another Way\u{2026}", "SETOK _Card", "SETOK _Next__one", "SETOK _Your passcode:",
            ]
        )
        let others = lines.filter { $0.hasPrefix("SETNOTOK") }
        #expect(others == (isGNOME ? [] : ["SETNOTOK _Next", "SETNOTOK N_ext", "SETNOTOK _Next"]))
        let pages = lines.filter { $0.contains("Another way: ") && $0.contains("\"Pay\"") }
        #expect(pages.count == 3 && pages.allSatisfy { $0.hasPrefix("SETDESC ") })

        let cancelled = "n=$((n+1)); case $n in 1) echo OK ;; *) echo 'ERR 83886179 x' ;; esac"
        #expect(try await ask(flavor, touch, ["CONFIRM": cancelled]).answer == .cancelled)
        let late = "n=$((n+1)); case $n in 1) echo OK ;; *) echo 'ERR 83886142 x' ;; esac"
        #expect(try await ask(flavor, touch, ["CONFIRM": late]).answer == .timedOut)
    }

    @Test("after the last fallback the first is offered again")
    func pagesAgain() async throws {
        let touch = Prompt(.touch, requester: "app", heading: "Unlock", fallbackTitles: ["Card", "Code"])
        let fourth = "n=$((n+1)); case $n in 2|3) echo 'ERR 83886194 x' ;; *) echo OK ;; esac"
        #expect(try await ask("gtk2", touch, ["CONFIRM": fourth]).answer == .fallback(0))
    }

    @Test(
        "without a quality bar a new secret is checked before it is asked for again",
        arguments: ["gnome3", "curses", "tty"]
    )
    func judgedBetween(flavor: String) async throws {
        var prompt = Prompt(.newSecret, requester: "app", heading: "Choose", fieldLabel: "New:")
        prompt.judge = judge
        let typed = "n=$((n+1)); case $n in 1) echo 'D ab' ;; *) echo 'D abc' ;; esac; echo OK"
        let (answer, lines, _) = try await ask(flavor, prompt, ["GETPIN": typed])
        #expect(answer == .entered("abc"))
        #expect(lines.filter { $0 == "GETPIN" }.count == 3)
        #expect(!lines.contains { $0.hasPrefix("SETREPEAT") || $0.hasPrefix("SETQUALITYBAR") })
        let again = flavor == "gnome3" ? "SETPROMPT Type it again, to be sure" : "SETPROMPT Again:"
        let order = lines.filter { $0.hasPrefix("SETERROR") || $0 == again }
        #expect(order == ["SETERROR Too short: use three.", again])
    }

    @Test("with a quality bar a new secret is checked while it is typed", arguments: ["gtk2", "qt"])
    func bar(flavor: String) async throws {
        var prompt = Prompt(.newSecret, requester: "app", heading: "Choose")
        prompt.judge = judge
        let typed = """
            for part in a a+ a+%25c; do
                echo "INQUIRE QUALITY $part"; read -r d; echo "$d" >> "$directory/notes"; read -r d
            done
            printf 'S PIN_REPEATED\\nD a %%25c\\nOK\\n'
            """
        let (answer, lines, notes) = try await ask(flavor, prompt, ["GETPIN": typed])
        #expect(answer == .entered("a %c"))
        #expect(notes == ["D -10", "D -20", "D 40"])
        #expect(lines.contains("SETQUALITYBAR Strength:"))
        #expect(lines.contains("SETQUALITYBAR_TT A passcode has three letters."))
        #expect(lines.contains("SETREPEAT Again:"))
    }

    @Test("the prompt states how many more requests wait for the same")
    func others() async throws {
        var prompt = Prompt.unlock()
        prompt.othersWaiting = 15
        let (_, lines, _) = try await ask("curses", prompt, ["GETPIN": "printf 'D a\\nOK\\n'"])
        let end = "Requested by /usr/bin/app%0A15 more requests wait for the same."
        #expect(lines.contains { $0.hasSuffix(end) })
    }
}
