import ArgumentParser
import Glibc
import KeychainModel

/// A file of variables in the dotenv format.
///
/// `NAME=value` per line, optionally after `export`; blank lines and lines that start with `#` are ignored. Single
/// quotes take everything up to the next one literally, also across lines; double quotes know `\n`, `\r`, `\t`, `\\`,
/// `\"` and `\$`. Without quotes the value ends before ` #` or at the end of its line. `$` is not expanded.
struct EnvironmentFile {
    /// The longest file, in bytes.
    private static let longest = 1 << 20

    private let place: String
    private var rest: ArraySlice<UInt8>
    private var line = 1

    /// Parses the variables of a file, in order; `-` is standard input.
    ///
    /// - Throws: ``CommandError`` that names the line, but not its content.
    static func variables(_ path: String) throws(CommandError) -> [(variable: String, value: SecretTemplate)]
    {
        var file = EnvironmentFile(place: path, rest: try PlainFile.read(path, upTo: longest)[...])
        var found: [(variable: String, value: SecretTemplate)] = []
        while let entry = try file.next() {
            found.removeAll { $0.variable == entry.variable }
            found.append(entry)
        }
        return found
    }

    private init(place: String, rest: ArraySlice<UInt8>) {
        self.place = place
        self.rest = rest
    }

    private mutating func next() throws(CommandError) -> (variable: String, value: SecretTemplate)? {
        while true {
            skip { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D }
            guard let octet = rest.first else { return nil }
            if octet == 0x0A {
                advance()
            } else if octet == UInt8(ascii: "#") {
                skip { $0 != 0x0A }
            } else {
                return try assignment()
            }
        }
    }

    private mutating func assignment() throws(CommandError) -> (variable: String, value: SecretTemplate) {
        let start = line
        var name = take { EnvironmentBinding.isPlain($0) }
        skipBlanks()
        if name == "export", rest.first != UInt8(ascii: "=") {
            name = take { EnvironmentBinding.isPlain($0) }
            skipBlanks()
        }
        guard EnvironmentBinding.isName(name) else { throw refusal("no variable's name", line: start) }
        guard rest.first == UInt8(ascii: "=") else { throw refusal("no '=' after '\(name)'", line: start) }
        advance()
        skipBlanks()
        let value = try value(of: name, line: start)
        guard !value.contains(0) else { throw refusal("a NUL byte in '\(name)'", line: start) }
        do throws(ValidationError) {
            return (name, try SecretTemplate(value: value[...]))
        } catch {
            throw refusal(error.message, line: start)
        }
    }

    private mutating func value(of name: String, line start: Int) throws(CommandError) -> [UInt8] {
        guard let quote = rest.first, quote == UInt8(ascii: "'") || quote == UInt8(ascii: "\"") else {
            return unquoted()
        }
        advance()
        var value: [UInt8] = []
        while let octet = rest.first {
            advance()
            if octet == quote {
                skipBlanks()
                if rest.first == UInt8(ascii: "#") { skip { $0 != 0x0A } }
                skip { $0 == 0x0D }
                guard rest.isEmpty || rest.first == 0x0A else {
                    throw refusal("text after the value of '\(name)'", line: start)
                }
                return value
            }
            if octet == UInt8(ascii: "\\"), quote == UInt8(ascii: "\""), let escaped = rest.first {
                advance()
                value += Self.unescaped(escaped)
            } else {
                value.append(octet)
            }
        }
        throw refusal("no quote ends the value of '\(name)'", line: start)
    }

    private mutating func unquoted() -> [UInt8] {
        var value: [UInt8] = []
        while let octet = rest.first, octet != 0x0A {
            let isComment = octet == UInt8(ascii: "#") && (value.last.map(Self.isBlank) ?? true)
            if isComment {
                skip { $0 != 0x0A }
                break
            }
            value.append(octet)
            advance()
        }
        while let last = value.last, Self.isBlank(last) || last == 0x0D { value.removeLast() }
        return value
    }

    private static func unescaped(_ octet: UInt8) -> [UInt8] {
        switch octet {
        case UInt8(ascii: "n"): [0x0A]
        case UInt8(ascii: "r"): [0x0D]
        case UInt8(ascii: "t"): [0x09]
        case UInt8(ascii: "\\"), UInt8(ascii: "\""), UInt8(ascii: "$"): [octet]
        default: [UInt8(ascii: "\\"), octet]
        }
    }

    private static func isBlank(_ octet: UInt8) -> Bool { octet == 0x20 || octet == 0x09 }

    private mutating func skipBlanks() { skip { $0 == 0x20 || $0 == 0x09 } }

    private mutating func skip(while isSkipped: (UInt8) -> Bool) {
        while let octet = rest.first, isSkipped(octet) { advance() }
    }

    private mutating func take(while isTaken: (UInt8) -> Bool) -> String {
        let taken = rest.prefix(while: isTaken)
        rest = rest.dropFirst(taken.count)
        return String(decoding: taken, as: UTF8.self)
    }

    private mutating func advance() {
        if rest.popFirst() == 0x0A { line += 1 }
    }

    private func refusal(_ message: String, line: Int) -> CommandError {
        CommandError(
            "\(place), line \(line): \(message)",
            hint: "a line is NAME=value, NAME='value' or NAME=touchstone://SECRET"
        )
    }
}
