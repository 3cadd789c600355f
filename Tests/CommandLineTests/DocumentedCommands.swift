import Foundation

/// The command lines in a manual page or a document, as a reader would copy them.
struct DocumentedCommands {
    /// Whole command lines.
    var lines: [String] = []
    /// Commands named within a sentence, in which a value may be left out: `touchstone set --require`.
    var mentions: [String] = []

    /// The words that begin a command line.
    private static var start: Regex<Substring> { #/(?:sudo )?(?:touchstone|git|systemctl|journalctl) /# }

    /// Reads a page of mdoc(7): literal lines and blocks, and commands in quotation marks.
    init(page: String) {
        var isLiteral = false
        var begun = ""
        for line in page.split(separator: "\n", omittingEmptySubsequences: false).map(String.init) {
            if line.hasPrefix(".Bd -literal") {
                isLiteral = true
            } else if line == ".Ed" {
                isLiteral = false
            } else if isLiteral {
                begun += line.replacing("\\e", with: "\\")
                if begun.hasSuffix("\\") {
                    begun = String(begun.dropLast())
                    continue
                }
                add(begun)
                begun = ""
            } else if let macro = line.prefixMatch(of: #/\.(Dl|Ql|Li) /#) {
                // What follows as a word of its own is the sentence's punctuation.
                let text = String(line[macro.range.upperBound...].replacing(#/ [.,;:]$/#, with: ""))
                macro.output.1 == "Dl" ? add(text) : mention(text)
            }
        }
    }

    /// Reads a document in Markdown: the lines with a prompt, and commands in code spans.
    init(document: String) {
        for line in document.split(separator: "\n") {
            if line.hasPrefix("$ ") || line.hasPrefix("# install ") || line.hasPrefix("# touchstone ") {
                add(String(line.dropFirst(2)))
                continue
            }
            for span in line.matches(of: /`([^`]+)`/) { mention(String(span.output.1)) }
        }
    }

    private mutating func add(_ line: String) {
        let line = line.trimmingCharacters(in: .whitespaces)
        if line.contains("touchstone") || line.prefixMatch(of: Self.start) != nil { lines.append(line) }
    }

    private mutating func mention(_ text: String) {
        if text.prefixMatch(of: Self.start) != nil { mentions.append(text) }
    }
}
