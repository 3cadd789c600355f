package import KeychainModel

/// The groups that programs were granted beside their own, so that several share items, or one keeps its items wherever
/// it is.
///
/// A line in brackets names a group; the lines after it are the programs that may use it, by their paths as
/// the kernel names them. A `*` in a path stands for any characters but `/`. With `own` before its path, the group
/// takes the place of the program's own: items that name no group go there. A line that starts with `#` is a comment.
///
/// ```
/// # The mail program and its helper share the account's passwords.
/// [com.example.mail]
/// /usr/bin/mail
/// /opt/Mail Helper/bin/helper
///
/// # Each version has a directory of its own.
/// [com.example.app]
/// own /opt/app-*/bin/app
/// ```
package struct AccessGroupManifest: Sendable, Equatable {
    /// The most groups that one program may be granted: a search looks into each.
    package static let mostGroups = 32
    /// The longest path of a program, in bytes: `PATH_MAX` without its NUL.
    package static let longestPath = 4095

    /// The most paths with a `*`: a program is compared with each.
    package static let mostPatterns = 256

    /// By the bytes of a program's path, in the order of the lines.
    private var grants: [[UInt8]: [AccessGroup]] = [:]
    private var patterns: [(path: PathPattern, group: AccessGroup)] = []
    /// Groups in the place of programs' own ones; the first that fits counts.
    private var owned: [(path: PathPattern, group: AccessGroup)] = []

    /// Compares what was granted, in order.
    package static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.grants == rhs.grants && lhs.patterns.elementsEqual(rhs.patterns, by: ==)
            && lhs.owned.elementsEqual(rhs.owned, by: ==)
    }

    /// Why a text is no manifest.
    package struct Fault: Error, Equatable, Sendable {
        /// Counted from 1.
        package let line: Int
        /// One clause without a full stop.
        package let reason: String
    }

    /// Grants nothing.
    package init() {}

    /// The groups granted to a program; none to one whose path cannot be told.
    package func groups(of program: String?) -> [AccessGroup] {
        guard let program else { return [] }
        let path = Array(program.utf8)
        var groups = grants[path] ?? []
        for (pattern, group) in patterns + owned
        where groups.count < Self.mostGroups && !groups.contains(group) && pattern.matches(path) {
            groups.append(group)
        }
        return groups
    }

    /// The group that a program's items belong to in the place of its path's; nil where its path names it.
    package func ownGroup(of program: String) -> AccessGroup? {
        guard !owned.isEmpty else { return nil }
        let path = Array(program.utf8)
        return owned.first { $0.path.matches(path) }?.group
    }

    /// Grants what a text says as well.
    ///
    /// - Throws: ``Fault``; what the lines before it said is granted then.
    package mutating func add(_ text: String) throws(Fault) {
        var group: AccessGroup?
        let newline = UInt8(ascii: "\n")
        let lines = text.utf8.split(separator: newline, omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let content = Self.trimmed(line)
            guard let first = content.first, first != UInt8(ascii: "#") else { continue }
            do throws(Reason) {
                if first == UInt8(ascii: "[") {
                    group = try Self.group(content)
                } else {
                    guard let group else { throw Reason("a program before the first [group]") }
                    try grant(group, toLine: content)
                }
            } catch {
                throw Fault(line: index + 1, reason: error.text)
            }
        }
    }

    private struct Reason: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }

    private static func group(_ content: Substring.UTF8View) throws(Reason) -> AccessGroup {
        guard content.last == UInt8(ascii: "]"),
            let group = AccessGroup(String(Substring(content.dropFirst().dropLast())))
        else { throw Reason("not of the form [group], with 1 to \(AccessGroup.longestName) bytes") }
        return group
    }

    private static let ownMark = Array("own ".utf8)

    private mutating func grant(_ group: AccessGroup, toLine line: Substring.UTF8View) throws(Reason) {
        guard line.starts(with: Self.ownMark) else { return try grant(group, to: Array(line)) }
        let path = Array(Self.trimmed(line.dropFirst(Self.ownMark.count)))
        guard owned.count < Self.mostPatterns else {
            throw Reason("more than \(Self.mostPatterns) lines with own")
        }
        // A group named like a path would be another program's own.
        guard !group.name.hasPrefix("/"), group.name != ClientIdentity.ownGroup else {
            throw Reason("a group that is to be a program's own may not be named like a program")
        }
        owned.append((try PathPattern(Self.checked(path)), group))
    }

    private static func checked(_ path: [UInt8]) throws(Reason) -> [UInt8] {
        guard path.first == UInt8(ascii: "/"), path.count <= longestPath, !path.contains(0) else {
            throw Reason("not the absolute path of a program")
        }
        return path
    }

    private mutating func grant(_ group: AccessGroup, to path: [UInt8]) throws(Reason) {
        let pattern = PathPattern(try Self.checked(path))
        guard !pattern.isPattern else {
            guard patterns.count < Self.mostPatterns else {
                throw Reason("more than \(Self.mostPatterns) paths with a *")
            }
            patterns.append((pattern, group))
            return
        }
        let granted = grants[path, default: []]
        guard !granted.contains(group) else { return }
        guard granted.count < Self.mostGroups else {
            throw Reason("more than \(Self.mostGroups) groups for one program")
        }
        grants[path] = granted + [group]
    }

    /// Without spaces, tabs and carriage returns around it; they may be inside a path.
    private static func trimmed(_ line: Substring.UTF8View) -> Substring.UTF8View {
        let spaces = [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")]
        let start = line.drop { spaces.contains($0) }
        guard let last = start.lastIndex(where: { !spaces.contains($0) }) else { return start.prefix(0) }
        return start[...last]
    }
}
