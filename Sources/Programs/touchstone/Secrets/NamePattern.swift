import Glibc

/// A part of a name, or a shell pattern (glob(7)) for the whole name; not case-sensitive.
struct NamePattern {
    private let text: String
    private let isPattern: Bool

    init(_ text: String) {
        self.text = text.lowercased()
        isPattern = text.contains { "*?[".contains($0) }
    }

    /// Whether a name matches.
    func matches(_ name: String) -> Bool {
        let name = name.lowercased()
        // A name may contain pattern characters itself.
        if contains(name) { return true }
        guard isPattern else { return false }
        return unsafe fnmatch(text, name, 0) == 0
    }

    private func contains(_ name: String) -> Bool {
        let (part, whole) = (Array(text.utf8), Array(name.utf8))
        guard part.count <= whole.count else { return false }
        return (0...(whole.count - part.count)).contains { start in
            whole[start..<(start + part.count)].elementsEqual(part)
        }
    }
}
