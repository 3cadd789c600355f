import Foundation
import TouchstoneTesting

/// A change in one directory, as recorded by strace(1) with `-y -xx`.
enum FileEvent: Equatable {
    case create(String)
    case write(String, offset: Int, octets: [UInt8])
    case truncate(String, length: Int)
    /// Of a file, or of the directory if the name is empty.
    case sync(String)
    case rename(from: String, to: String)
    /// A second name of a file.
    case link(from: String, to: String)
    case unlink(String)
    /// From here on a client may know the result.
    case reply

    /// Reads a log; other directories are left out.
    static func read(log: String, directory: String) throws -> [FileEvent] {
        let octets = Array(try Data(contentsOf: URL(fileURLWithPath: log)))
        // The path as the kernel names it.
        let directory = URL(fileURLWithPath: directory).resolvingSymlinksInPath().standardizedFileURL.path
        return try octets.split(separator: UInt8(ascii: "\n")).compactMap { line in
            guard let call = SystemCall(line) else { return nil }
            return try call.event(in: directory)
        }
    }
}

/// One line of the log: a call's name, and its arguments in order and by kind.
private struct SystemCall {
    var name = ""
    /// The descriptors' paths, as `-y` prints them.
    var places: [String] = []
    var strings: [[UInt8]] = []
    var numbers: [Int] = []
    var flags = ""

    /// Nil for a failed call and for a line that does not begin a call.
    init?(_ line: ArraySlice<UInt8>) {
        let text = line.drop { $0 != UInt8(ascii: " ") }.drop { $0 == UInt8(ascii: " ") }
        guard let start = text.firstIndex(of: UInt8(ascii: "(")) else { return nil }
        name = String(decoding: text[..<start], as: UTF8.self)
        guard name.utf8.allSatisfy({ $0 != UInt8(ascii: "<") && $0 != UInt8(ascii: "+") }) else { return nil }
        var rest = text[(start + 1)...]
        var plain: [UInt8] = []
        while let octet = rest.first {
            rest.removeFirst()
            switch octet {
            case UInt8(ascii: "\""):
                let quoted = rest.prefix { $0 != UInt8(ascii: "\"") }
                strings.append(Self.decode(quoted))
                rest = rest.dropFirst(quoted.count + 1)
            case UInt8(ascii: "<") where rest.first == UInt8(ascii: "\\"):
                let place = rest.prefix { $0 != UInt8(ascii: ">") }
                rest = rest.dropFirst(place.count + 1)
                // The file is deleted.
                let isDeleted = rest.starts(with: Self.deleted)
                if isDeleted { rest = rest.dropFirst(Self.deleted.count) }
                places.append(isDeleted ? "" : String(decoding: Self.decode(place), as: UTF8.self))
            default: plain.append(octet)
            }
        }
        let words = String(decoding: plain, as: UTF8.self)
        if words.contains(" = -1 ") { return nil }
        let arguments = words.prefix { $0 != ")" && $0 != "<" }
        flags = String(arguments)
        numbers = arguments.split(separator: ",").compactMap { Int($0.filter { $0 != " " }) }
    }

    private static let deleted = Array("(deleted)".utf8)

    private static func decode(_ text: ArraySlice<UInt8>) -> [UInt8] {
        var octets: [UInt8] = []
        var index = text.startIndex
        // Each byte is \xNN.
        while index + 3 < text.endIndex {
            octets.append(digit(text[index + 2]) << 4 | digit(text[index + 3]))
            index += 4
        }
        return octets
    }

    private static func digit(_ octet: UInt8) -> UInt8 {
        octet <= UInt8(ascii: "9") ? octet - UInt8(ascii: "0") : octet - UInt8(ascii: "a") + 10
    }

    func event(in directory: String) throws -> FileEvent? {
        let place = places.first ?? ""
        switch name {
        case "sendmsg": return .reply
        case "pwrite64":
            guard let file = Self.name(place, in: directory) else { return nil }
            guard numbers.count >= 2, let octets = strings.first, octets.count == numbers[numbers.count - 2]
            else { throw TestKitError.unexpected("a write that was not written down whole") }
            return .write(file, offset: numbers[numbers.count - 1], octets: octets)
        case "ftruncate":
            return Self.name(place, in: directory).map { .truncate($0, length: numbers.last ?? 0) }
        case "fsync", "fdatasync":
            return place == directory ? .sync("") : Self.name(place, in: directory).map { .sync($0) }
        case "openat":
            // The returned descriptor comes last.
            guard flags.contains("O_CREAT"), let made = places.last else { return nil }
            return Self.name(made, in: directory).map { .create($0) }
        case "unlinkat", "unlink": return entry(0, in: directory).map { .unlink($0) }
        case "renameat", "renameat2", "rename":
            // The only flag used, RENAME_NOREPLACE, makes a call fail; failed calls are left out.
            guard !flags.contains("RENAME_EXCHANGE"), !flags.contains("RENAME_WHITEOUT") else {
                throw TestKitError.unexpected("a rename that the disk does not know")
            }
            guard let from = entry(0, in: directory), let to = entry(1, in: directory) else { return nil }
            return .rename(from: from, to: to)
        case "linkat":
            guard let from = entry(0, in: directory), let to = entry(1, in: directory) else { return nil }
            return .link(from: from, to: to)
        default: return nil
        }
    }

    /// The name of a path argument, absolute or relative to the directory descriptor beside it.
    private func entry(_ index: Int, in directory: String) -> String? {
        guard index < strings.count else { return nil }
        let path = String(decoding: strings[index], as: UTF8.self).replacing("//", with: "/")
        if path.hasPrefix("/") { return Self.name(path, in: directory) }
        return index < places.count && places[index] == directory ? path : nil
    }

    private static func name(_ path: String, in directory: String) -> String? {
        guard path.hasPrefix(directory + "/") else { return nil }
        return String(path.dropFirst(directory.count + 1))
    }
}
