import ArgumentParser
import Glibc
import KeychainClient
import KeychainModel
import SecretMemory
import SystemFacts

/// `pinentry-touchstone`: what gpg-agent calls for a passphrase, in front of the pinentry that a person types into.
struct PinentryCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pinentry",
        abstract: "Give gpg the passphrases of its keys; gpg-agent calls it.",
        discussion: """
            Under the name pinentry-touchstone (a link to this program) it is the pinentry-program of \
            ~/.gnupg/gpg-agent.conf. The passphrase of a key is the first line of the secret gpg:KEYGRIP:

              gpg --list-secret-keys --with-keygrip
              touchstone set gpg:KEYGRIP --require finger

            Whatever else gpg-agent wants goes to pinentry, with the same arguments: a passphrase that is not stored, was \
            wrong or is new, and questions.
            """
    )

    @Argument(help: "The arguments of pinentry, as gpg-agent gives them, after --.")
    var arguments: [String] = []

    func run() throws {
        var conversation = PinentryConversation(arguments)
        try conversation.run()
    }
}

/// A conversation with gpg-agent by the protocol of pinentry (its manual, "Implementation Details"; Assuan's, "Server responses").
///
/// It answers by itself until the first request that a person has to answer. Then pinentry is started, told what was set so far, and
/// the rest is passed on both ways.
private struct PinentryConversation {
    /// libgpg-error's source of pinentry's errors (`GPG_ERR_SOURCE_PINENTRY`), and codes.
    private enum Fault: String {
        case cancelled = "83886179 Operation cancelled <Pinentry>"
        case noPinentry = "83886165 No pinentry <Pinentry>"
        case parameter = "83886360 Invalid parameter <Pinentry>"
        case lineTooLong = "83886343 Line too long <Pinentry>"
    }

    /// `ASSUAN_LINELENGTH` of libassuan, in bytes, without the line break.
    private static let longestLine = 1000
    /// `MAX_PASSPHRASE_LEN` of gpg-agent, in bytes.
    private static let longestPassphrase = 255

    private let arguments: [String]
    /// What was set, for pinentry.
    private var settings: [[UInt8]] = []
    /// The secret with the passphrase that is asked for; nil for none.
    private var name: ItemName?
    /// Whether a person has to type it: the one that is stored was wrong, or it is a new one.
    private var mustBeTyped = false

    init(_ arguments: [String]) { self.arguments = arguments }

    mutating func run() throws(CommandError) {
        try write("OK Pleased to meet you")
        while let line = try Self.line(from: STDIN_FILENO) {
            guard line.count <= Self.longestLine else {
                try write("ERR \(Fault.lineTooLong.rawValue)")
                continue
            }
            let text = String(decoding: line, as: UTF8.self)
            let command = text.prefix { $0 != " " }.uppercased()
            let argument = String(text.dropFirst(command.count + 1))
            switch command {
            case _ where command.isEmpty || command.hasPrefix("#"): break
            case "BYE": return try write("OK closing connection")
            case "NOP", "CLEARPASSPHRASE": try write("OK")
            case "RESET":
                settings.removeAll { !$0.starts(with: "OPTION ".utf8) }
                (name, mustBeTyped) = (nil, false)
                try write("OK")
            case "GETINFO": try tell(argument)
            case "GETPIN":
                guard let answer = try passphrase() else { return try passOn(line) }
                try give(answer)
            case _ where command == "OPTION" || command.hasPrefix("SET"):
                note(command, argument)
                settings.append(line)
                try write("OK")
            default: return try passOn(line)
            }
        }
    }

    private mutating func note(_ command: String, _ argument: String) {
        switch command {
        case "SETKEYINFO":
            // n/KEYGRIP; another letter is a passphrase that is not of a key in gpg-agent's care.
            let keygrip = argument.hasPrefix("n/") ? argument.dropFirst(2) : ""
            let isKeygrip = keygrip.utf8.count == 40 && keygrip.allSatisfy { $0.isASCII && $0.isHexDigit }
            name = isKeygrip ? try? ItemName(argument: "gpg:" + keygrip.uppercased()) : nil
        case "SETERROR", "SETREPEAT": mustBeTyped = true
        default: break
        }
    }

    private func tell(_ what: String) throws(CommandError) {
        switch what {
        case "flavor": try write("D touchstone\nOK")
        case "version": try write("D \(ProductVersion.text)\nOK")
        case "pid": try write("D \(getpid())\nOK")
        default: try write("ERR \(Fault.parameter.rawValue)")
        }
    }

    // MARK: The stored passphrase

    /// What is told of a stored passphrase.
    private enum Answer: ~Copyable {
        case passphrase(SecretBytes)
        case cancelled
    }

    /// The answer from the keychain; nil if a person has to type it.
    private mutating func passphrase() throws(CommandError) -> Answer? {
        guard let name, !mustBeTyped else { return nil }
        // What is asked for again was wrong, also if nobody says so.
        mustBeTyped = true
        do throws(CommandError) {
            let secret = try StoredSecrets().read(
                name,
                reason: "Give gpg the passphrase '\(name.text)'.",
                context: RemoteKeychain.shared.makeContextNumber()
            )
            return .passphrase(try SecretFields.password(in: secret, atMost: Self.longestPassphrase))
        } catch {
            if error.exitCode == .cancelled { return .cancelled }
            // gpg-agent's log; what is not stored is no fault.
            if error.exitCode != .notFound { Output.complain("\(name.text): \(error.message)") }
            return nil
        }
    }

    private func give(_ answer: consuming Answer) throws(CommandError) {
        switch answer {
        case .cancelled: try write("ERR \(Fault.cancelled.rawValue)")
        case .passphrase(let passphrase):
            var lines = try CommandMemory.buffer(1024)
            // Not as PASSWORD_FROM_CACHE: gpg-agent would ask no person after a wrong one.
            lines.append(text: "D ")
            passphrase.withOctets { octets in
                for index in octets.indices {
                    switch octets[index] {
                    case 0x25: lines.append(text: "%25")
                    case 0x0D: lines.append(text: "%0D")
                    case let octet: lines.append(octet)
                    }
                }
            }
            lines.append(text: "\nOK\n")
            guard Descriptor.write(try CommandMemory.finish(lines), to: STDOUT_FILENO) else {
                throw CommandError("gpg-agent does not read")
            }
        }
    }

    // MARK: pinentry

    /// Starts pinentry, tells it what was set, and passes on `line` and whatever follows, both ways, to the end.
    private func passOn(_ line: [UInt8]) throws(CommandError) {
        let path: String
        do throws(CommandError) {
            path = try Executable("pinentry").path
            guard ProcessDirectory.FileIdentity(path) != ProcessDirectory.FileIdentity("/proc/self/exe")
            else { throw CommandError("'\(path)' is touchstone itself") }
        } catch {
            try write("ERR \(Fault.noPinentry.rawValue)")
            throw error
        }
        var toChild = try Pipe()
        var fromChild = try Pipe()
        let child = try ChildProgram(
            path,
            ["pinentry"] + arguments,
            input: toChild.readEnd,
            output: fromChild.writeEnd,
            errors: STDERR_FILENO
        )
        toChild.closeReadEnd()
        fromChild.closeWriteEnd()
        _ = try Self.line(from: fromChild.readEnd)
        for setting in settings {
            try Self.send(setting, to: toChild.writeEnd)
            // What it does not know was for us alone.
            while let reply = try Self.line(from: fromChild.readEnd) {
                if reply.starts(with: "OK".utf8) || reply.starts(with: "ERR".utf8) { break }
            }
        }
        try Self.send(line, to: toChild.writeEnd)
        try passOn(&toChild, &fromChild)
        let status = child.wait()
        guard status == 0 else { throw CommandError("pinentry ended with \(status)", exitCode: .failed) }
    }

    /// Passes on what either side says until pinentry ends.
    private func passOn(_ toChild: inout Pipe, _ fromChild: inout Pipe) throws(CommandError) {
        var entries = [
            pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
            pollfd(fd: fromChild.readEnd, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            _ = SystemCall.uninterrupted { unsafe poll(&entries, nfds_t(entries.count), -1) }
            if entries[1].revents != 0, try !Self.move(from: fromChild.readEnd, to: STDOUT_FILENO) { return }
            if entries[0].revents != 0, try !Self.move(from: STDIN_FILENO, to: toChild.writeEnd) {
                toChild.closeWriteEnd()
                entries[0].fd = -1
            }
        }
    }

    /// Moves what can be read, in locked memory: it may be a passphrase.
    ///
    /// - Returns: false at the end.
    private static func move(from source: CInt, to target: CInt) throws(CommandError) -> Bool {
        var buffer = try CommandMemory.buffer(4096)
        var count = 0
        _ = unsafe buffer.append(upTo: 4096) { room in
            count = SystemCall.uninterrupted { unsafe read(source, room.baseAddress, room.count) }
            return max(0, count)
        }
        return try Descriptor.write(CommandMemory.finish(buffer), to: target) && count > 0
    }

    // MARK: Lines

    /// The next line, without its break; nil at the end.
    ///
    /// A line that is too long is returned in part. It is read byte by byte, so that nothing is taken that is pinentry's.
    private static func line(from descriptor: CInt) throws(CommandError) -> [UInt8]? {
        var (line, octet): ([UInt8], UInt8) = ([], 0)
        while true {
            let count = SystemCall.uninterrupted { unsafe read(descriptor, &octet, 1) }
            guard count > 0 else { return line.isEmpty ? nil : line }
            if octet == 0x0A { return line }
            if line.count <= longestLine { line.append(octet) }
        }
    }

    private static func send(
        _ line: [UInt8],
        to descriptor: CInt,
        _ reader: String = "pinentry"
    ) throws(CommandError) {
        guard unsafe (line + [0x0A]).withUnsafeBytes({ unsafe Descriptor.write($0, to: descriptor) }) else {
            throw CommandError("\(reader) does not read")
        }
    }

    private func write(_ text: String) throws(CommandError) {
        try Self.send(Array(text.utf8), to: STDOUT_FILENO, "gpg-agent")
    }
}
