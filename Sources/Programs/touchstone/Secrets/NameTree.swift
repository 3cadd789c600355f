import KeychainModel

/// The names of secrets as a tree: what is before a `/` once, and below it, indented, what follows.
enum NameTree {
    /// A name divided at its slashes, as bytes: names that only look alike stay apart.
    private struct Path {
        /// The parts before the last one.
        let directories: [[UInt8]]
        /// The last part; for a name that ends with `/`, that slash belongs to it.
        let leaf: [UInt8]

        init(_ name: String) {
            let slash = UInt8(ascii: "/")
            var parts = name.utf8.split(separator: slash, omittingEmptySubsequences: false).map(Array.init)
            var leaf = parts.removeLast()
            if leaf.isEmpty, let last = parts.popLast() { leaf = last + [slash] }
            (directories, self.leaf) = (parts, leaf)
        }

        /// Orders names so that those below the same directory follow each other.
        static func precedes(_ one: Path, _ other: Path) -> Bool {
            (one.directories + [one.leaf]).lexicographicallyPrecedes(other.directories + [other.leaf]) {
                $0.lexicographicallyPrecedes($1)
            }
        }
    }

    /// One line for each directory and each secret, with what the secret requires, indented by two spaces per level.
    static func lines(of secrets: [StoredSecret]) -> [String] {
        let leaves = secrets.map { (path: Path($0.name), secret: $0) }
            .sorted { Path.precedes($0.path, $1.path) }
        var lines: [String] = []
        var open: [[UInt8]] = []
        for (path, secret) in leaves {
            let shared = zip(open, path.directories).prefix { $0 == $1 }.count
            for (depth, part) in path.directories.enumerated().dropFirst(shared) {
                lines.append(indented(depth, shown(part) + "/"))
            }
            open = path.directories
            let state = secret.invalidated == nil ? "" : "  lost"
            let requirement = secret.accessControl.ruleName
            lines.append(indented(open.count, "\(shown(path.leaf))  \(requirement)\(state)"))
        }
        return lines
    }

    private static func indented(_ depth: Int, _ text: String) -> String {
        String(repeating: "  ", count: depth) + text
    }

    /// A part of a name for the terminal; a blank at its start, which would look like a level, is escaped.
    private static func shown(_ part: [UInt8]) -> String {
        let text = String(decoding: part, as: UTF8.self)
        guard let first = text.unicodeScalars.first, first.properties.isWhitespace else {
            return Printable.text(text)
        }
        return "\\u{\(String(first.value, radix: 16))}"
            + Printable.text(String(text.unicodeScalars.dropFirst()))
    }
}
