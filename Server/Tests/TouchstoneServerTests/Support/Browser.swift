import Foundation
import Testing
import WebAuthnModel

/// A headless Chromium with one page, driven over the DevTools protocol on a pipe.
///
/// See https://chromedevtools.github.io/devtools-protocol/, option `--remote-debugging-pipe`.
actor Browser {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()
    private var calls = 0
    private var waiting: [Int: CheckedContinuation<JSONValue, any Error>] = [:]
    private var session: String?
    private var isOver = false
    /// The page's exceptions, console messages and policy violations.
    private(set) var complaints: [String] = []
    /// The URLs of all requests.
    private(set) var requests: [String] = []
    /// Requests that are paused until a test answers them (domain `Fetch`).
    private var held: [JSONValue] = []

    struct Failure: Error, CustomStringConvertible { let description: String }

    /// The time limit of every wait; generous for a busy machine.
    private static let patience = Duration.seconds(60)

    /// Runs a browser for `body`; `http://localhost:8080` in it is the server.
    static func with(
        _ server: TestServer,
        flags: [String] = [],
        _ body: (Browser) async throws -> Void
    ) async throws {
        try await TestServer.inDirectory { directory in
            let browser = Browser()
            try await browser.launch(directory, port: server.api.split(separator: ":").last ?? "", flags)
            do {
                try await body(browser)
                #expect(await browser.complaints == [])
            } catch {
                await browser.end()
                throw error
            }
            await browser.end()
        }
    }

    // MARK: Process

    private func launch(_ directory: String, port: Substring, _ flags: [String]) async throws {
        let program = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].first {
            FileManager.default.isExecutableFile(atPath: $0)
        }
        // The browser reads from descriptor 3 and writes to 4.
        process.executableURL = URL(filePath: "/bin/sh")
        process.arguments =
            [
                "-c", #"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null"#,
                try #require(program, "Scripts/packages-server installs chromium"), "--headless=new",
                "--remote-debugging-pipe", "--user-data-dir=\(directory)/profile", "--no-first-run",
                "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
                "--disable-component-update", "--lang=en-US",
                "--host-resolver-rules=MAP localhost:8080 127.0.0.1:\(port), MAP localhost:8443 127.0.0.1:\(port)",
                // Chromium has no sandbox for root; it loads only this server's pages.
                "--no-sandbox",
            ] + flags + ["about:blank"]
        process.environment = ["HOME": directory, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "TZ": "UTC"]
        process.standardInput = input
        process.standardOutput = output
        let errors = "\(directory)/errors"
        try Data().write(to: URL(filePath: errors))
        process.standardError = try FileHandle(forWritingTo: URL(filePath: errors))
        try process.run()
        listen()
        let target = try await send("Target.createTarget", ["url": "about:blank"])["targetId"]
        let attached = try await send(
            "Target.attachToTarget",
            ["targetId": target ?? .null, "flatten": true]
        )
        session = try #require(attached["sessionId"]?.string)
        for domain in ["Page", "Runtime", "Log", "Network", "Accessibility"] {
            try await send("\(domain).enable")
        }
        try await send(
            "Page.addScriptToEvaluateOnNewDocument",
            [
                "source":
                    "addEventListener('securitypolicyviolation', e => console.error('CSP', e.violatedDirective))"
            ]
        )
    }

    private func listen() {
        let (messages, continuation) = AsyncStream.makeStream(of: JSONValue.self)
        let handle = output.fileHandleForReading
        Thread.detachNewThread {
            var buffer = Data()
            while case let data = handle.availableData, !data.isEmpty {
                buffer.append(data)
                while let end = buffer.firstIndex(of: 0) {
                    let message = Array(buffer[buffer.startIndex..<end])
                    buffer = Data(buffer[buffer.index(after: end)...])
                    if let json = try? JSONValue(parsing: message, depth: 512) { continuation.yield(json) }
                }
            }
            continuation.finish()
        }
        Task {
            for await message in messages { receive(message) }
            isOver = true
            for call in waiting.values { call.resume(throwing: Failure(description: "the browser ended")) }
            waiting = [:]
        }
    }

    private func receive(_ message: JSONValue) {
        if let id = message["id"]?.integer, let call = waiting.removeValue(forKey: Int(id)) {
            if let error = message["error"] {
                call.resume(throwing: Failure(description: error.text))
            } else {
                call.resume(returning: message["result"] ?? .null)
            }
            return
        }
        guard let parameters = message["params"] else { return }
        switch message["method"]?.string {
        case "Runtime.exceptionThrown": complaints.append(parameters.text)
        case "Runtime.consoleAPICalled": complaints.append(parameters.text)
        case "Log.entryAdded":
            // Error responses are the server's, and the page reports them.
            if parameters["entry"]?["source"]?.string != "network" { complaints.append(parameters.text) }
        case "Network.requestWillBeSent":
            if let url = parameters["request"]?["url"]?.string { requests.append(url) }
        case "Fetch.requestPaused": held.append(parameters)
        default: break
        }
    }

    private func end() async {
        _ = try? await send("Browser.close")
        for _ in 0..<200 where process.isRunning { try? await Task.sleep(for: .milliseconds(50)) }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
    }

    // MARK: Protocol

    @discardableResult
    func send(_ method: String, _ parameters: JSONValue = [:]) async throws -> JSONValue {
        guard !isOver else { throw Failure(description: "the browser ended") }
        calls += 1
        let id = calls
        let message = JSONValue(members: [
            "id": .integer(Int64(id)), "method": .string(method), "params": parameters,
            "sessionId": session.map { .string($0) },
        ])
        try input.fileHandleForWriting.write(contentsOf: Data(message.text.utf8) + [0])
        return try await withCheckedThrowingContinuation { waiting[id] = $0 }
    }

    /// The value of an expression in the page.
    @discardableResult
    func value(_ expression: String) async throws -> JSONValue {
        let answer = try await send(
            "Runtime.evaluate",
            ["expression": .string(expression), "returnByValue": true, "awaitPromise": true]
        )
        if let exception = answer["exceptionDetails"] {
            throw Failure(description: "\(expression): \(exception.text)")
        }
        return answer["result"]?["value"] ?? .null
    }

    /// Waits until an expression in the page is true.
    func wait(_ condition: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let start = ContinuousClock.now
        while ContinuousClock.now - start < Self.patience {
            // While a page loads, evaluation fails.
            if (try? await value("(async () => Boolean(await (\(condition))))()")) == true { return }
            try await Task.sleep(for: .milliseconds(25))
        }
        let text = try await value("document.body.innerText").string ?? ""
        Issue.record("waited for \(condition)\n\(text)", sourceLocation: sourceLocation)
        throw Failure(description: "waited for \(condition)")
    }

    /// The first paused request, of those that match the patterns given to `Fetch.enable`.
    func heldRequest() async throws -> JSONValue {
        let start = ContinuousClock.now
        while held.isEmpty, ContinuousClock.now - start < Self.patience {
            try await Task.sleep(for: .milliseconds(25))
        }
        guard !held.isEmpty else { throw Failure(description: "no request came") }
        return held.removeFirst()
    }

    /// Waits for a request, after the first `count`, whose URL ends in `suffix`.
    func waitForRequest(_ suffix: String, after count: Int) async throws {
        let start = ContinuousClock.now
        while !requests.dropFirst(count).contains(where: { $0.hasSuffix(suffix) }) {
            guard ContinuousClock.now - start < Self.patience else {
                throw Failure(description: "no request of \(suffix)")
            }
            try await Task.sleep(for: .milliseconds(25))
        }
    }

    func forgetComplaints() { complaints = [] }
}

// MARK: User input

extension Browser {
    func open(_ address: String = "http://localhost:8080/") async throws {
        try await send("Page.navigate", ["url": .string(address)])
        try await wait("location.href === '\(address)' || location.href + '#' === '\(address)'")
        try await wait("document.readyState === 'complete'")
    }

    /// Opens a second window of the page; the first one's scripts call it `other`.
    func openWindow() async throws {
        try await send(
            "Runtime.evaluate",
            ["expression": "globalThis.other = window.open('/'), true", "userGesture": true]
        )
    }

    /// Clicks an element with the mouse, once it is there and not busy.
    func click(_ selector: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let element = "document.querySelector('\(selector)')"
        try await wait(
            "\(element)?.checkVisibility() && \(element).getAttribute('aria-disabled') !== 'true'",
            sourceLocation: sourceLocation
        )
        try await value("\(element).scrollIntoView({block: 'center'})")
        let place = try await value(
            "(() => { const r = \(element).getBoundingClientRect(); "
                + "return [Math.round(r.x + r.width / 2), Math.round(r.y + r.height / 2)] })()"
        )
        for type in ["mousePressed", "mouseReleased"] {
            try await send(
                "Input.dispatchMouseEvent",
                [
                    "type": .string(type), "x": place.array?[0] ?? 0, "y": place.array?[1] ?? 0,
                    "button": "left", "clickCount": 1,
                ]
            )
        }
    }

    /// Replaces a field's text.
    func fill(
        _ selector: String,
        _ text: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let element = "document.querySelector('\(selector)')"
        try await wait("\(element)?.checkVisibility()", sourceLocation: sourceLocation)
        try await value("\(element).focus(), \(element).select()")
        try await type(text)
    }

    /// Types a text at the focus.
    func type(_ text: String) async throws { try await send("Input.insertText", ["text": .string(text)]) }

    enum Key: String {
        case tab = "Tab"
        case enter = "Enter"
        case escape = "Escape"

        var code: Int64 {
            switch self {
            case .tab: 9
            case .enter: 13
            case .escape: 27
            }
        }
    }

    func press(_ key: Key, shift: Bool = false) async throws {
        var parameters: KeyValuePairs<String, JSONValue> {
            [
                "key": .string(key.rawValue), "code": .string(key.rawValue),
                "windowsVirtualKeyCode": .integer(key.code), "modifiers": shift ? 8 : 0,
            ]
        }
        let members = parameters.map { ($0.key, $0.value) }
        let text: [(String, JSONValue)] = key == .enter ? [("text", "\r")] : []
        try await send(
            "Input.dispatchKeyEvent",
            .object(JSONObject([("type", key == .enter ? "keyDown" : "rawKeyDown")] + members + text))
        )
        try await send("Input.dispatchKeyEvent", .object(JSONObject([("type", "keyUp")] + members)))
    }

    /// Presses Tab until the focus is on an element.
    func tab(to selector: String, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for _ in 0..<60 {
            if try await value("document.activeElement?.matches('\(selector)') ?? false") == true { return }
            try await press(.tab)
        }
        Issue.record("the key Tab does not lead to \(selector)", sourceLocation: sourceLocation)
        throw Failure(description: "no way to \(selector)")
    }

    // MARK: The authenticator

    /// Adds an authenticator; with user presence it answers at once, without it waits.
    @discardableResult
    func addAuthenticator(isPresent: Bool = true) async throws -> String {
        try await send("WebAuthn.enable", ["enableUI": false])
        let answer = try await send(
            "WebAuthn.addVirtualAuthenticator",
            [
                "options": [
                    "protocol": "ctap2", "transport": "internal", "hasResidentKey": true,
                    "hasUserVerification": true, "isUserVerified": true,
                    "automaticPresenceSimulation": .bool(isPresent),
                ]
            ]
        )
        return try #require(answer["authenticatorId"]?.string)
    }

    /// Sets whether a user touches the authenticator when it asks.
    func setPresence(_ isPresent: Bool, of authenticator: String) async throws {
        try await send(
            "WebAuthn.setAutomaticPresenceSimulation",
            ["authenticatorId": .string(authenticator), "enabled": .bool(isPresent)]
        )
    }

    func cookies() async throws -> [JSONValue] {
        try await send("Network.getCookies")["cookies"]?.array ?? []
    }
}
