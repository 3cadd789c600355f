import Glibc
import KeychainModel
import SecretMemory
import TouchstoneTesting

@testable import PinentryDriver

/// A prompt's answer as a comparable value; only tests may convert a secret to text.
enum Answer: Equatable, Sendable {
    case entered(String)
    case fallback(Int)
    case confirmed, cancelled, timedOut

    init(_ answer: consuming PromptAnswer) {
        switch consume answer {
        case .entered(let secret):
            let octets = secret.withOctets { octets in octets.indices.map { octets[$0] } }
            self = .entered(String(decoding: octets, as: UTF8.self))
        case .confirmed: self = .confirmed
        case .fallback(let index): self = .fallback(index)
        case .cancelled: self = .cancelled
        case .timedOut: self = .timedOut
        }
    }

    init(
        _ prompter: any SecretPrompter,
        _ prompt: Prompt,
        at origin: PromptOrigin,
        whenShown: @escaping @Sendable (PromptChannel?) -> Void = { _ in }
    ) async throws {
        let answer = try await prompter.ask(prompt, at: origin) { whenShown($0()) }
        self.init(answer)
    }

    init(
        _ prompter: any SecretPrompter,
        _ prompt: Prompt,
        at terminal: PseudoTerminal,
        whenShown: @escaping @Sendable (PromptChannel?) -> Void = { _ in }
    ) async throws {
        try await self.init(prompter, prompt, at: terminal.origin, whenShown: whenShown)
    }
}

extension PinentryPrompter {
    /// A prompter with an installed program.
    init(_ program: String, readingPause: Duration = Self.readingPause) {
        self.init(program: PinentryProgram([program]), readingPause: readingPause)
    }
}

extension Prompt {
    /// A prompt for a passcode.
    static func unlock(_ input: Input = .secret, timeout: Duration = .seconds(30)) -> Prompt {
        Prompt(input, requester: "/usr/bin/app", heading: "Unlock the keychain", timeout: timeout)
    }
}

extension PseudoTerminal {
    /// The origin of a request from this terminal.
    var origin: PromptOrigin { PromptOrigin(terminal: name, terminalType: "xterm", characterType: "C.UTF-8") }

    /// Whether an escape sequence was written.
    func drew(_ sequence: String) -> Bool {
        String(decoding: octets, as: UTF8.self).unicodeScalars.contains(sequence.unicodeScalars)
    }
}

extension PseudoTerminal {
    /// Waits until the prompt on it no longer takes keys for something that was typed before.
    func waitUntilKeysCount() async throws {
        try await Deadline.wait(for: "the end of the reading pause") { try isWatchedForKeys ? nil : true }
    }

    /// Whether this process lets the kernel signal keys (`O_ASYNC`; proc(5), `fdinfo`), as it does until they count.
    private var isWatchedForKeys: Bool {
        get throws {
            try entries(of: "/proc/self/fd").contains { descriptor in
                guard link("/proc/self/fd/\(descriptor)") == name,
                    let fields = contents(of: "/proc/self/fdinfo/\(descriptor)")?.split(separator: "\n"),
                    let flags = fields.first(where: { $0.hasPrefix("flags:") })?.split(separator: "\t").last,
                    let number = CInt(flags, radix: 8)
                else { return false }
                return number & O_ASYNC != 0
            }
        }
    }
}

/// A short file's text; nil if there is none.
func contents(of path: String) -> String? {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard file >= 0 else { return nil }
    defer { close(file) }
    var octets = [UInt8](repeating: 0, count: 4096)
    let count = unsafe read(file, &octets, octets.count)
    return String(decoding: octets[..<max(0, count)], as: UTF8.self)
}

struct Timeout: Error {}

/// Polls a condition outside this process.
func eventually(_ condition: () throws -> Bool) async throws {
    let deadline = ContinuousClock.now + Deadline.patience
    while try !condition() {
        guard ContinuousClock.now < deadline else { throw Timeout() }
        await Task.yield()
    }
}

/// The number of processes with a given name that have a file open.
func users(of path: String, named name: String) throws -> Int {
    try entries(of: "/proc").filter { process in
        guard process.allSatisfy(\.isNumber), link("/proc/\(process)/exe")?.contains(name) == true else {
            return false
        }
        let descriptors = (try? entries(of: "/proc/\(process)/fd")) ?? []
        return descriptors.contains { link("/proc/\(process)/fd/\($0)") == path }
    }.count
}

func entries(of directory: String) throws -> [String] {
    guard let stream = unsafe opendir(directory) else { throw Timeout() }
    defer { unsafe closedir(stream) }
    var names: [String] = []
    while let entry = unsafe readdir(stream) {
        names.append(
            unsafe withUnsafeBytes(of: &entry.pointee.d_name) { name in
                unsafe String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
            }
        )
    }
    return names
}

func link(_ path: String) -> String? {
    var room = [CChar](repeating: 0, count: 4096)
    let count = unsafe readlink(path, &room, room.count)
    guard count > 0 else { return nil }
    return String(decoding: room.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
}
