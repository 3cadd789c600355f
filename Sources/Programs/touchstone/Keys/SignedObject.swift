import Glibc
import KeychainModel

/// What git is about to sign: a commit or a tag, for the box.
struct SignedObject {
    /// The longest object that is read, in bytes: a message has no limit in git.
    static let longest = 16 << 20
    /// The names of files that the box has; more are counted.
    private static let mostFiles = 6

    private enum Kind {
        case commit(tree: String, parents: [String])
        case tag(name: String, object: String)
        case other
    }

    private let kind: Kind
    private let subject: String

    /// Reads the header lines of git's object, which the signature covers.
    init(_ bytes: [UInt8]) {
        let lines = bytes.split(separator: 0x0A, maxSplits: 4096, omittingEmptySubsequences: false)
        let header = lines.prefix { !$0.isEmpty }.map { line in
            let words = line.split(separator: 0x20, maxSplits: 1).map { String(decoding: $0, as: UTF8.self) }
            return (name: words.first ?? "", value: words.count > 1 ? words[1] : "")
        }
        func value(_ name: String) -> String? { header.first { $0.name == name }?.value }
        let message = lines.dropFirst(header.count).first { !$0.isEmpty } ?? []
        subject = String(decoding: message, as: UTF8.self)
        if let tree = value("tree"), Self.isName(tree) {
            let parents = header.filter { $0.name == "parent" }.map(\.value)
            kind = parents.allSatisfy(Self.isName) ? .commit(tree: tree, parents: parents) : .other
        } else if let tag = value("tag"), let object = value("object"), Self.isName(object) {
            kind = .tag(name: tag, object: object)
        } else {
            kind = .other
        }
    }

    /// The sentence of the box.
    func reason(for key: NamedKey) -> String {
        let end = "with the key \(PromptDetails.quoted(key.name))."
        return switch kind {
        case .commit: "Sign the commit \(PromptDetails.quoted(subject, atMost: 72)) \(end)"
        case .tag(let name, _): "Sign the tag \(PromptDetails.quoted(name, atMost: 72)) \(end)"
        case .other: "Sign for 'git' \(end)"
        }
    }

    /// The lines below it: the repository, and what changes.
    func lines() -> [String] {
        var lines = ["In: \(Self.directory)"]
        switch kind {
        case .commit(let tree, let parents):
            lines.append(
                parents.count > 1 ? "Merges \(parents.count) commits" : Self.changes(tree, parents.first)
            )
        case .tag(_, let object): lines.append("Of: \(object.prefix(12)) \(subject)")
        case .other: lines.append("Neither a commit nor a tag")
        }
        return lines
    }

    private static var directory: String {
        guard let path = unsafe getcwd(nil, 0) else { return "an unknown directory" }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }

    /// The files in which a tree differs from its parent's, as git lists them.
    private static func changes(_ tree: String, _ parent: String?) -> String {
        let arguments =
            parent.map { ["diff-tree", "-r", "-z", "--name-only", "--no-commit-id", $0, tree] }
            ?? ["ls-tree", "-r", "-z", "--name-only", "--full-tree", tree]
        guard let output = try? ChildProgram.output(of: "git", arguments, upTo: longest) else {
            return "Files: unknown"
        }
        let names = output.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        guard !names.isEmpty else { return "Files: none" }
        let more = names.count > mostFiles ? " and \(names.count - mostFiles) more" : ""
        return "Files: \(names.prefix(mostFiles).joined(separator: ", "))\(more)"
    }

    /// Whether a text is the name of an object, and no option.
    private static func isName(_ text: String) -> Bool {
        [40, 64].contains(text.utf8.count) && text.allSatisfy { $0.isHexDigit && !$0.isUppercase }
    }
}
