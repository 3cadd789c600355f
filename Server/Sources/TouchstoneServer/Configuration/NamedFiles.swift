internal import Foundation

/// A directory with one file for each service or audience, named by the file.
enum NamedFiles {
    /// The files, in the order of their names.
    ///
    /// - Parameters:
    ///   - directory: the directory's path.
    ///   - kind: what each file is for, such as `service`; for messages.
    /// - Returns: name and path of each.
    /// - Throws: ``ConfigurationFault`` for a directory that cannot be read or has no file, and for a wrong name.
    static func all(
        in directory: String,
        each kind: String
    ) throws(ConfigurationFault) -> [(name: String, path: String)] {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: directory) else {
            throw ConfigurationFault(place: directory, reason: "is no directory that can be read")
        }
        // Hidden files are left out: a mounted volume keeps its versions in them.
        let visible = names.filter { !$0.hasPrefix(".") }.sorted()
        guard !visible.isEmpty else {
            throw ConfigurationFault(place: directory, reason: "has no file: each \(kind) has one")
        }
        for name in visible where !isName(name) {
            throw ConfigurationFault(
                place: "\(directory)/\(name)",
                reason: "the \(kind)'s name has 1 to 64 letters, digits, \"-\", \"_\" and \".\""
            )
        }
        return visible.map { ($0, "\(directory)/\($0)") }
    }

    private static func isName(_ text: String) -> Bool {
        (1...64).contains(text.utf8.count)
            && text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) }
    }
}
