import FingerprintDriver
import Foundation
import Glibc
import KeychainModel
import MessageBus
import SecretMemory
import Threads

/// The person at the prompts of a ``TemporaryKeychain``: sees each box of a pinentry program and does what the test
/// says.
///
/// The program is real and reports its boxes through a named pipe. One dedicated thread answers the boxes and another
/// touches the sensor, because the app's calls may block all threads of Swift's pool.
final class PromptedPerson: Sendable {
    /// The program that the daemon starts.
    let pinentry: ScriptedPinentry
    private let desk: PromptDesk

    /// The prompts shown so far.
    var prompts: [TestPrompt] { desk.state.withLock(\.prompts) }

    init(passcode: String) throws {
        desk = try PromptDesk(passcode: passcode)
        pinentry = try ScriptedPinentry(PromptDesk.script(home: desk.directory.path))
        let desk = desk
        guard BlockingThread.start({ desk.serve() }) == 0 else { throw TestKitError.unexpected("no thread") }
    }

    deinit { desk.close() }

    /// Whether a prompt is open that accepts a finger.
    var isWaitedFor: Bool {
        guard let processID = desk.state.withLock(\.fingerBox) else { return false }
        return !ChildProcess.hasEnded(processID)
    }

    /// Queues deeds for the next prompts.
    func tell(_ deeds: [TestDeed]) { desk.state.withLock { $0.deeds += deeds } }

    /// Gives the person a hand on the sensor of a bus.
    func reach(_ bus: PrivateBus, _ sensor: PrivateBus.Sensor) {
        desk.state.withLock { $0.hand = Hand(bus, sensor) }
    }

    /// Sets the enrolled fingers; the first is used by default.
    func know(_ fingers: [TestFinger]) { desk.state.withLock { $0.enrolled = fingers } }

    /// Runs `body`, whose prompts are the kit's own: answered as usual, and not listed among the test's prompts.
    func aside(_ body: () async throws -> Void) async rethrows {
        let (deeds, prompts) = desk.state.withLock { state in
            defer { state.deeds = [] }
            return (state.deeds, state.prompts)
        }
        defer {
            desk.state.withLock { state in
                (state.deeds, state.prompts, state.last) = (deeds, prompts, nil)
            }
        }
        try await body()
    }
}

/// The open boxes, and what the person does at them.
private final class PromptDesk: Sendable {
    struct State {
        var deeds: [TestDeed] = []
        var enrolled: [TestFinger] = []
        var prompts: [TestPrompt] = []
        var hand: Hand?
        /// What was done at the last box; a prompt may have several.
        var last: (deed: TestDeed, box: Box)?
        var answers: [String: CInt] = [:]
        /// The process of the last box that accepts a finger.
        var fingerBox: Int32?
        var code = ""
        var touches = 20
        /// The number of wrong passcodes that were typed, no two of them the same.
        var typos = 0
    }

    let directory: TemporaryDirectory
    let state = Guarded(State())
    private let passcode: String
    private let asked: CInt
    private let thread = BusExecutor()

    init(passcode: String) throws {
        self.passcode = passcode
        directory = try TemporaryDirectory()
        let path = directory.appending("asked")
        guard unsafe mkfifo(path, 0o600) == 0 else { throw TestKitError.system("mkfifo", errno: errno) }
        // Also open for writing, so that reading never reaches the end of file.
        asked = unsafe open(path, O_RDWR | O_CLOEXEC)
        guard asked >= 0 else { throw TestKitError.system("open", errno: errno) }
    }

    deinit {
        Glibc.close(asked)
        state.withLock { $0.answers.values.forEach { Glibc.close($0) } }
    }

    /// Ends ``serve()``.
    func close() { _ = unsafe write(asked, "end\n", 4) }

    /// The program's shell code for a box: reports the box, then waits for a line on its own pipe.
    static func script(home: String) -> [String: String] {
        let box = """
            boxes=$((boxes + 1))
            box=$$-$boxes
            mkfifo "\(home)/$box"
            printf '%s\\t%s\\t%s\\t%s\\t%s\\n' "$box" "$line" "$error" "$label" "$description" > "\(home)/asked"
            error=
            IFS= read -r deed < "\(home)/$box"
            case "$deed" in
            cancel) echo 'ERR 83886179 Operation cancelled <Pinentry>' ;;
            next) echo 'ERR 83886194 Not confirmed <Pinentry>' ;;
            type*)
                printf 'D %s\\n' "${deed#type }"
                if [ -n "$repeated" ]; then echo 'S PIN_REPEATED'; fi
                echo OK ;;
            *) echo OK ;;
            esac
            """
        return [
            "SETDESC": "description=$line; echo OK", "SETERROR": "error=$line; echo OK",
            "SETPROMPT": "label=$line; echo OK", "SETREPEAT": "repeated=1; echo OK",
            "CONFIRM": box, "GETPIN": box,
        ]
    }

    /// Answers boxes until ``close()``.
    func serve() {
        var pending: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = SystemCall.uninterrupted { unsafe read(asked, &room, room.count) }
            guard count > 0 else { return }
            pending += room[..<count]
            while let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: pending[..<end], as: UTF8.self)
                pending.removeSubrange(...end)
                if line == "end" { return }
                if let box = Box(line) { answer(box) }
            }
        }
    }

    private func answer(_ box: Box) {
        let deed = state.withLock { state -> TestDeed in
            if let code = box.code { state.code = code }
            state.fingerBox = box.takesFinger ? box.processID : nil
            if let last = state.last, box.continues(last.box, after: last.deed) {
                // What is left to do after the passcode is a touch.
                let isTyped = last.box.asksPasscodeFirst && last.deed.kind == .typesPasscode
                let deed = isTyped ? .usual : last.deed
                state.last = (deed, box)
                return deed
            }
            if !box.takesFinger, let last = state.last, last.deed.endsInPasscode,
                last.box.prompt == box.prompt
            {
                // Type the passcode after the fallback button.
                state.last = nil
                return .typesPasscode
            }
            let deed = state.deeds.isEmpty ? .usual : state.deeds.removeFirst()
            state.prompts.append(box.prompt)
            state.last = (deed, box)
            return deed
        }
        let (enrolled, code) = state.withLock { ($0.enrolled, $0.code) }
        let secret = "type " + (box.wantsCode ? code : passcode)
        let affirmative = box.hasField ? secret : "ok"
        switch deed.kind {
        case .cancels: send("cancel", to: box)
        case .ignores: break
        case .typesPasscode: send(affirmative, to: box)
        case .mistypesPasscode:
            let number = state.withLock { state in
                state.typos += 1
                return state.typos
            }
            send(box.hasField && !box.saysWait ? "type wrong passcode \(number)" : "cancel", to: box)
        case .choosesFallback(let index):
            let isOther = box.page.map { $0 != index + 1 } ?? false
            send(isOther ? "next" : affirmative, to: box)
        case .usual:
            guard box.takesFinger, let finger = enrolled.first else { return send(affirmative, to: box) }
            touch(finger, at: box)
        case .touches(let finger):
            guard !box.takesFinger else { return touch(finger, at: box) }
            send(enrolled.contains(finger) || box.asksPasscodeFirst ? affirmative : "cancel", to: box)
        }
    }

    private func send(_ line: String, to box: Box) {
        let pipe = unsafe open(directory.appending(box.name), O_RDWR | O_NONBLOCK | O_CLOEXEC)
        guard pipe >= 0 else { return }
        // Kept open: unread bytes are lost when the last descriptor of the pipe is closed.
        state.withLock { $0.answers[box.name] = pipe }
        let octets = Array((line + "\n").utf8)
        _ = unsafe write(pipe, octets, octets.count)
    }

    private func touch(_ finger: TestFinger, at box: Box) {
        guard let hand = state.withLock(\.hand) else { return }
        // The program ends with the daemon, which ends this task.
        Task(executorPreference: thread) { [state] in
            await hand.touch(while: { !ChildProcess.hasEnded(box.processID) }) {
                let number = state.withLock { state in
                    state.touches += 1
                    return state.touches
                }
                return (finger, number)
            }
        }
    }
}

/// A box, as the program reports it.
private struct Box {
    let name: String
    let processID: Int32
    let hasField: Bool
    /// Whether it is shown again after a wrong finger or passcode, or says why no finger counts.
    private let hasMessage: Bool
    /// Whether it accepts a finger on the sensor.
    let takesFinger: Bool
    /// Whether it asks for the passcode, and the same prompt for a finger afterwards.
    let asksPasscodeFirst: Bool
    /// Whether it says why the passcode is asked for in place of a finger: in a new prompt, or once fingers failed at this one.
    private let refusesFingers: Bool
    /// Whether it says how long to wait after wrong passcodes.
    let saysWait: Bool
    /// Whether it asks for the recovery code.
    let wantsCode: Bool
    /// The recovery code that it shows.
    let code: String?
    /// The number of the fallback that it offers, from 1; nil if it is no page of fallbacks.
    let page: Int?
    let prompt: TestPrompt

    private static let pageOpening = "Another way: "
    private static let refusals = [
        "Fingers are off until", "The enrolled fingers have changed: passcode first",
        "Fingers wait for the passcode",
        "The fingerprint sensor has not answered yet",
    ]

    init?(_ line: String) {
        let parts = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 5, let processID = parts[0].split(separator: "-").first.flatMap({ Int32($0) })
        else { return nil }
        let text = String((parts[4].removingPercentEncoding ?? parts[4]).dropFirst("SETDESC ".count))
        name = parts[0]
        self.processID = processID
        hasField = parts[1].hasPrefix("GETPIN")
        prompt = TestPrompt(text)
        // Only our own words: an app's texts may contain anything.
        let ours = prompt.ours.joined(separator: "\n")
        page = prompt.ours.first { $0.hasPrefix(Self.pageOpening) }
            .flatMap { Int($0.dropFirst(Self.pageOpening.count).prefix(while: \.isNumber)) }
        // A box without a field shows the error below its heading.
        let heading = ours.range(of: "\n\n").map { ours[..<$0.lowerBound] } ?? ""
        hasMessage = !parts[2].isEmpty || heading.contains("\n")
        takesFinger = prompt.takesFinger
        asksPasscodeFirst = ours.contains("passcode first, then touch the sensor")
        let message = parts[2].removingPercentEncoding ?? parts[2]
        saysWait = message.contains("Wait ")
        refusesFingers = Self.refusals.contains { message.contains($0) || heading.contains($0) }
        wantsCode = parts[3].contains("Recovery") || parts[3].contains("Code")
        let pattern = "[0-9A-Z]{4}(-[0-9A-Z]{4}){6}"
        code = text.range(of: pattern, options: .regularExpression).map { String(text[$0]) }
    }
}

extension Box {
    /// Whether it is one more box of the prompt that the last one belongs to.
    fileprivate func continues(_ last: Box, after deed: TestDeed) -> Bool {
        guard prompt.isOfSameRequest(as: last.prompt) else { return false }
        if last.asksPasscodeFirst { return takesFinger || hasMessage }
        // A prompt for fingers alone ends where another one asks for the passcode.
        if refusesFingers, case .touches = deed.kind { return last.takesFinger && last.hasField }
        if refusesFingers { return false }
        return hasMessage
    }
}

extension TestDeed {
    /// Whether a box for the passcode may follow in the same prompt.
    fileprivate var endsInPasscode: Bool {
        switch kind {
        case .typesPasscode, .choosesFallback: true
        case .usual, .touches, .mistypesPasscode, .cancels, .ignores: false
        }
    }
}
