import Foundation

/// Messages by name with their bytes, in a text file below `Golden`: `= name`, then a ``CBORListing``.
struct GoldenFile {
    /// Whether this run writes the files anew, which it reports as a failure if one has changed.
    static let isWriting = ProcessInfo.processInfo.environment["TOUCHSTONE_WRITE_GOLDEN"] == "1"

    /// The names, in order.
    private(set) var names: [String] = []
    private(set) var octets: [String: [UInt8]] = [:]
    private let url: URL

    /// Reads a file; one that does not exist has no messages.
    ///
    /// - Throws: ``Malformed`` for lines that are no listing, and for two messages of one name.
    init(_ name: String) throws {
        url = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Golden/\(name).txt")
        guard FileManager.default.fileExists(atPath: url.path) else { return }
        let text = try String(contentsOf: url, encoding: .utf8)
        for section in text.split(separator: "\n= ", omittingEmptySubsequences: true).dropFirst() {
            let lines = section.split(separator: "\n")
            guard let name = lines.first.map(String.init),
                let octets = CBORListing.octets(lines.dropFirst()),
                self.octets.updateValue(octets, forKey: name) == nil
            else { throw Malformed(section: String(section)) }
            names.append(name)
        }
    }

    /// A part of a golden file that cannot be read.
    struct Malformed: Error {
        let section: String
    }

    /// Writes the file with these messages.
    func write(_ messages: [GoldenMessage]) throws {
        var lines = [
            "One CBOR item a line: its bytes, then what they say. Made by PinnedTests; CONTRIBUTING.md says how to",
            "change it on purpose.",
        ]
        for message in messages { lines += ["", "= \(message.name)"] + CBORListing.lines(message.octets) }
        try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: url)
    }

    /// The differences between the file and these messages, in lines for a person.
    func differences(from messages: [GoldenMessage]) -> [String] {
        var lines: [String] = []
        for message in messages {
            guard let golden = octets[message.name] else {
                lines.append("new: \(message.name)")
                continue
            }
            guard golden != message.octets else { continue }
            let changes = CBORListing.lines(message.octets)
                .difference(from: CBORListing.lines(golden))
                .map { change in
                    switch change {
                    case .insert(_, let line, _): "  now " + line
                    case .remove(_, let line, _): "  was " + line
                    }
                }
            lines += ["changed: \(message.name)"] + changes
        }
        let known = Set(messages.map(\.name))
        lines += names.filter { !known.contains($0) }.map { "gone: \($0)" }
        if lines.isEmpty, names != messages.map(\.name) { lines.append("another order") }
        return lines
    }
}
