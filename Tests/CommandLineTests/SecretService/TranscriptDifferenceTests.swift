import Foundation
import Testing

/// The same clients with GNOME Keyring: what it answers otherwise is known, and why.
///
/// Both transcripts are read; nothing runs.
@Suite("Transcripts of clients beside those with GNOME Keyring")
struct TranscriptDifferenceTests {
    /// A known difference: what has to be replaced, in one of the transcripts or in both, so that they are the same.
    private struct Known {
        enum Side {
            case theirs
            case ours
            case both
        }

        let why: String
        let side: Side
        /// A regular expression, in which `^` is the start of a line.
        let pattern: String
        var replacement = ""
    }

    /// In this order.
    private static let known = [
        Known(
            why: "It tells the list of items a moment later, perhaps after the client's next call.",
            side: .theirs,
            pattern:
                #"(ItemCreated o: \S+\n)((?:\d+ .*\n|  .*\n|\$ .*\n)+)(signal \S+ DBus\.Properties\.PropertiesChanged .*"Items".*\n)"#,
            replacement: "$1$3$2"
        ),
        Known(
            why:
                "It tells an item that was replaced as a new one; a new one is told as a property too, in the next line.",
            side: .theirs,
            pattern: #"ItemCreated (o: \S+\n)(?!signal \S+ DBus\.Properties)"#,
            replacement: "ItemChanged $1"
        ),
        Known(
            why: "It tells what a property has become, beside the signals of the specification.",
            side: .theirs,
            pattern: #"^signal \S+ DBus\.Properties\.PropertiesChanged .*"(Label|Attributes)".*\n"#
        ),
        Known(
            why: "It has a property that the specification removed.",
            side: .theirs,
            pattern: #", "Type": <s "[^"]*">"#
        ),
        Known(
            why: "It adds a schema to attributes that have none.",
            side: .theirs,
            pattern: #", "xdg:schema": "org\.freedesktop\.Secret\.Generic""#
        ),
        Known(
            why:
                "Its collection was made at some time, and was changed; ours is there without having been made.",
            side: .theirs,
            pattern: #""Created": <t \S+>, ("Items": .*, "Label": <s "Login">, .*), "Modified": <t \S+>"#,
            replacement: #""Created": <t 0>, $1, "Modified": <t 0>"#
        ),
        Known(
            why: "To it, what was deleted is an object without methods.",
            side: .theirs,
            pattern: #"^  fails DBus\.Error\.UnknownMethod$"#,
            replacement: "  fails Secret.Error.NoSuchObject"
        ),
        Known(
            why: "Ours tells those too that listen at an alias.",
            side: .ours,
            pattern: #"^signal ~/aliases/\S+ Secret\.Collection\.Item.*\n"#
        ),
        Known(
            why: "It tells nobody of a new secret.",
            side: .ours,
            pattern:
                #"^(\d+ calls \S+ Secret\.Item\.SetSecret .*\n.*\n)signal \S+ Secret\.Collection\.ItemChanged .*\n"#,
            replacement: "$1"
        ),
        Known(
            why: "Chromium's secret is random.",
            side: .both,
            pattern: #"b"[A-Za-z0-9+/]{22}==""#,
            replacement: "$$random"
        ),
    ]

    @Test("each answer and each signal is the same, but for those that are known")
    func same() throws {
        var used: Set<String> = []
        for client in TranscriptClient.allCases where client.isWithoutBoxes {
            var ours = try Transcript(client.rawValue).steps.map { $0.step.text + "\n" }.joined()
            var theirs = try Transcript(Transcript.keyring + client.rawValue).steps.map {
                $0.step.text + "\n"
            }
            .joined()
            for known in Self.known {
                if known.side != .theirs, Self.replace(known, in: &ours) { used.insert(known.why) }
                if known.side != .ours, Self.replace(known, in: &theirs) { used.insert(known.why) }
            }
            let changes = ours.split(separator: "\n").difference(from: theirs.split(separator: "\n"))
            for change in changes {
                switch change {
                case .insert(_, let line, _): Issue.record("\(client.rawValue), ours: \(line)")
                case .remove(_, let line, _): Issue.record("\(client.rawValue), theirs: \(line)")
                }
            }
        }
        #expect(used == Set(Self.known.map(\.why)))
    }

    private static func replace(_ known: Known, in text: inout String) -> Bool {
        let replaced = text.replacingOccurrences(
            of: "(?m)" + known.pattern,
            with: known.replacement.replacing("$$", with: "\\$"),
            options: .regularExpression
        )
        defer { text = replaced }
        return replaced != text
    }
}
