package import KeychainModel

/// The access groups granted to programs beside their own, so that several share items, or one keeps its items when its
/// path changes.
///
/// A line in brackets names a group; the following lines are the paths of the programs that may use it, as the kernel
/// reports them. A `*` in a path matches any characters except `/`. With `own` before a path, the group replaces the
/// program's own group: items that name no group go there. A line that starts with `#` is a comment.
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
    /// The most groups granted to one program: a search looks in each.
    package static let mostGroups = 32
    /// The longest path of a program, in bytes: `PATH_MAX` without its NUL.
    package static let longestPath = 4095

    /// The most paths with a `*`: each program is compared with all of them.
    package static let mostPatterns = 256

    /// The groups by the bytes of a program's path, in the order of the lines.
    private var grants: [[UInt8]: [AccessGroup]] = [:]
    private var patterns: [(path: PathPattern, group: AccessGroup)] = []
    /// Groups that replace programs' own groups; the first match counts.
    private var owned: [(path: PathPattern, group: AccessGroup)] = []

    /// Compares the grants, in order.
    package static func == (lhs: Self, rhs: Self) -> Bool {
        lhs.grants == rhs.grants && lhs.patterns.elementsEqual(rhs.patterns, by: ==)
            && lhs.owned.elementsEqual(rhs.owned, by: ==)
    }

    /// Why a text is not a manifest.
    package struct Fault: Error, Equatable, Sendable {
        /// The line number, from 1.
        package let line: Int
        /// The reason, one clause without a full stop.
        package let reason: String
    }

    /// Creates a manifest without grants.
    package init() {}

    /// The groups granted to a program; none if its path is unknown.
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

    /// The group that replaces a program's own group; nil if its own group is its path.
    package func ownGroup(of program: String) -> AccessGroup? {
        guard !owned.isEmpty else { return nil }
        let path = Array(program.utf8)
        return owned.first { $0.path.matches(path) }?.group
    }

    /// Adds the grants of a text.
    ///
    /// - Throws: ``Fault``; the grants of the lines before it are added all the same.
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
        guard !group.name.hasPrefix(AccessGroup.doorPrefix) else {
            throw Reason("a group that cannot be granted: it is a door's")
        }
        guard group != .reads else { throw Reason("a group that cannot be granted: it is the daemon's") }
        guard group != NamedKey.group else {
            throw Reason("a group that cannot be granted: only touchstone makes and deletes its keys")
        }
        return group
    }

    private static let ownMark = Array("own ".utf8)

    private mutating func grant(_ group: AccessGroup, toLine line: Substring.UTF8View) throws(Reason) {
        guard line.starts(with: Self.ownMark) else { return try grant(group, to: Array(line)) }
        let path = Array(Self.trimmed(line.dropFirst(Self.ownMark.count)))
        guard owned.count < Self.mostPatterns else {
            throw Reason("more than \(Self.mostPatterns) lines with own")
        }
        // A group named like a path would be the own group of another program.
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

    /// Trims spaces, tabs and carriage returns at both ends; a path may contain them.
    private static func trimmed(_ line: Substring.UTF8View) -> Substring.UTF8View {
        let spaces = [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r")]
        let start = line.drop { spaces.contains($0) }
        guard let last = start.lastIndex(where: { !spaces.contains($0) }) else { return start.prefix(0) }
        return start[...last]
    }
}
