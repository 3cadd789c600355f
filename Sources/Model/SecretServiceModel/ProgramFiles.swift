package import KeychainModel

/// Programs by their files, the oldest entry first: one line each, inode number and path.
///
/// One text, which many items share in memory.
package struct ProgramFiles: Sendable, Equatable {
    /// The most programs; the first ones are left out beyond it, and are asked for again.
    package static let most = 16
    /// The longest text, in bytes: what an attribute holds is twice as much.
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
        text.split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, let inode = UInt64(parts[0]) else { return nil }
            return ProgramFile(path: String(parts[1]), inode: inode)
        }
    }

    /// Whether a program is among them.
    package func contains(_ file: ProgramFile) -> Bool {
        guard let line = Self.line(of: file) else { return false }
        return text == line || text.split(separator: "\n").contains { $0 == line }
    }

    /// Whether a program can be among them: not with a line break in its path, which is asked for each time.
    package static func canName(_ file: ProgramFile) -> Bool { line(of: file) != nil }

    /// The programs with one more, as the last one; the same for one that cannot be among them.
    package func adding(_ file: ProgramFile) -> ProgramFiles {
        guard let line = Self.line(of: file) else { return self }
        var lines = text.split(separator: "\n").filter { $0 != line } + [line[...]]
        while lines.count > Self.most || lines.reduce(0, { $0 + $1.utf8.count + 1 }) > Self.longest {
            lines.removeFirst()
        }
        return ProgramFiles(text: lines.joined(separator: "\n"))
    }

    private static func line(of file: ProgramFile) -> String? {
        guard !file.path.isEmpty, file.path.utf8.count <= longest / 2,
            !file.path.utf8.contains(UInt8(ascii: "\n"))
        else { return nil }
        return "\(file.inode) \(file.path)"
    }
}
