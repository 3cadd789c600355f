/// A program's path in which a `*` matches any characters except `/`.
struct PathPattern: Sendable, Equatable {
    /// The literal parts between the stars.
    private let parts: [[UInt8]]

    init(_ path: [UInt8]) {
        parts = path.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false).map(Array.init)
    }

    /// Whether it has a star.
    var isPattern: Bool { parts.count > 1 }

    /// Whether a path matches; takes at most time proportional to the product of both lengths.
    func matches(_ path: [UInt8]) -> Bool {
        guard let first = parts.first, let last = parts.last, path.starts(with: first) else { return false }
        guard isPattern else { return path == first }
        var rest = path[first.count...]
        for part in parts[1..<(parts.count - 1)] {
            guard let end = Self.end(of: part, in: rest) else { return false }
            rest = rest[end...]
        }
        // The last star extends to the start of the last part.
        guard rest.count >= last.count, rest.suffix(last.count).elementsEqual(last) else { return false }
        return !rest.dropLast(last.count).contains(UInt8(ascii: "/"))
    }

    /// The end of the first occurrence of `part` that is not preceded by a `/`; nil if there is none.
    private static func end(of part: [UInt8], in text: ArraySlice<UInt8>) -> Int? {
        var start = text.startIndex
        while start + part.count <= text.endIndex {
            if text[start..<(start + part.count)].elementsEqual(part) { return start + part.count }
            if text[start] == UInt8(ascii: "/") { return nil }
            start += 1
        }
        return nil
    }
}
