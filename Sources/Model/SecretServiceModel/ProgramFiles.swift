package import KeychainModel

/// Programs by their files, the oldest entry first: one line each, inode number and path.
///
/// One text, which many items share in memory.
package struct ProgramFiles: Sendable, Equatable {
    /// The most programs; the first ones are left out beyond it, and are asked for again.
    package static let most = 16
    /// The longest text, in bytes: half of what an attribute holds.
    package static let longest = 8192
    static let key = AttributeKey(rawValue: "fs:readers")

    /// The lines.
    package let text: String

    /// No program.
    package init() { text = "" }

    init(text: String) { self.text = text }

    /// Reads the programs of an item.
    init(_ attributes: ItemAttributes) {
        guard case .string(let text)? = attributes[Self.key], text.utf8.count <= Self.longest else {
            self.init()
            return
        }
        self.init(text: text)
    }

    /// The attribute with the lines; none for no program.
    package var attributes: ItemAttributes { text.isEmpty ? [:] : [Self.key: .string(text)] }

    /// The programs, the oldest entry first; without lines that cannot be read.
    package var files: [ProgramFile] {
        lines.compactMap { line in
            let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 1)
            guard parts.count == 2, let inode = UInt64(Substring(parts[0])) else { return nil }
            return ProgramFile(path: String(Substring(parts[1])), inode: inode)
        }
    }

    /// Whether a program is among them.
    package func contains(_ file: ProgramFile) -> Bool {
        guard let wanted = Self.line(of: file) else { return false }
        return lines.contains { $0.elementsEqual(wanted.utf8) }
    }

    /// Whether a program can be among them: not with a line break in its path, which is asked for each time.
    package static func canName(_ file: ProgramFile) -> Bool { line(of: file) != nil }

    /// The programs with one more, as the last one; the same for one that cannot be among them.
    package func adding(_ file: ProgramFile) -> ProgramFiles {
        guard let added = Self.line(of: file) else { return self }
        var kept = lines.filter { !$0.elementsEqual(added.utf8) } + [added[...].utf8]
        while kept.count > Self.most || kept.reduce(0, { $0 + $1.count + 1 }) > Self.longest {
            kept.removeFirst()
        }
        return ProgramFiles(text: kept.map { String(Substring($0)) }.joined(separator: "\n"))
    }

    /// Of bytes, as paths are: characters would take "\r\n" for one, and two spellings of a letter for the same.
    private var lines: [Substring.UTF8View] { text.utf8.split(separator: UInt8(ascii: "\n")) }

    private static func line(of file: ProgramFile) -> String? {
        guard !file.path.isEmpty, file.path.utf8.count <= longest / 2,
            !file.path.utf8.contains(UInt8(ascii: "\n"))
        else { return nil }
        return "\(file.inode) \(file.path)"
    }
}
