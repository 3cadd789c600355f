// Prints the public declarations of a module, without comments, as docs/API.md has them.
//
//   swift Scripts/api.swift SYMBOLS.json
//
// SYMBOLS.json is the module's symbol graph, without synthesized members. Members of the same kind and type share a line; where
// they repeat the names of a nested type's constants, the line says so in place of the names. The exit status is 1 if the list has
// more than 210 lines, or one of more than 133 columns.

import Foundation

let mostColumns = 133
let mostLines = 210

struct SymbolGraph: Decodable {
    struct Symbol: Decodable {
        struct Fragment: Decodable { let spelling: String }
        struct Kind: Decodable { let identifier: String }
        struct Extension: Decodable {
            struct Constraint: Decodable { let kind, lhs, rhs: String }
            let constraints: [Constraint]?
        }
        struct Location: Decodable {
            struct Position: Decodable { let line: Int }
            let uri: String
            let position: Position
        }

        let kind: Kind
        let pathComponents: [String]
        let declarationFragments: [Fragment]
        let swiftExtension: Extension?
        /// Nil for compiler-generated symbols.
        let location: Location?

        var owner: [String] { Array(pathComponents.dropLast()) }
        var isType: Bool {
            ["swift.struct", "swift.enum", "swift.class", "swift.protocol"].contains(kind.identifier)
        }
        var constraints: [String] {
            (swiftExtension?.constraints ?? []).filter { $0.kind == "sameType" }.map {
                "\($0.lhs) == \($0.rhs)"
            }
        }

        /// The declaration on one line, without the names of its enclosing types.
        var text: String {
            var text = declarationFragments.map(\.spelling).joined().split { $0.isWhitespace }.joined(
                separator: " "
            )
            for count in stride(from: owner.count, to: 0, by: -1) {
                text = text.replacing(owner.prefix(count).joined(separator: ".") + ".", with: "")
            }
            // Stated by the line above its extension.
            if !constraints.isEmpty, let clause = text.range(of: " where Purpose == ") {
                text.removeSubrange(clause.lowerBound...)
            }
            return text
        }
    }

    let symbols: [Symbol]
}

/// Joins `static let a: T` and `static let b: T` to `static let a, b: T`; cases likewise.
func merged(_ lines: [String]) -> [String] {
    func parts(_ line: String) -> (head: String, name: String, tail: String)? {
        for head in ["case ", "static let ", "let ", "static var ", "var "] where line.hasPrefix(head) {
            let rest = line.dropFirst(head.count)
            guard head == "case " else {
                guard let colon = rest.firstIndex(of: ":") else { return nil }
                return (head, String(rest[..<colon]), String(rest[colon...]))
            }
            return (head, String(rest), "")
        }
        return nil
    }
    var result: [(key: String, names: [String], tail: String, head: String)] = []
    for line in lines {
        guard let part = parts(line) else {
            result.append((line, [], line, ""))
            continue
        }
        let key = part.head + part.tail
        if let last = result.last, last.key == key, !last.names.isEmpty {
            result[result.count - 1].names.append(part.name)
        } else {
            result.append((key, [part.name], part.tail, part.head))
        }
    }
    return result.map { $0.names.isEmpty ? $0.tail : $0.head + $0.names.joined(separator: ", ") + $0.tail }
}

/// The lines of one declaration, wrapped at spaces.
func broken(_ text: String, indent: Int) -> [String] {
    var lines: [String] = []
    var line = String(repeating: " ", count: indent)
    for word in text.split(separator: " ") {
        if line.count + 1 + word.count > mostColumns {
            lines.append(line)
            line = String(repeating: " ", count: indent + 8)
        }
        line += line.allSatisfy { $0 == " " } ? String(word) : " \(word)"
    }
    return lines + [line]
}

guard CommandLine.arguments.count == 2 else {
    print("usage: swift Scripts/api.swift SYMBOLS.json")
    exit(64)
}
let data = try Data(contentsOf: URL(fileURLWithPath: CommandLine.arguments[1]))
let symbols = try JSONDecoder().decode(SymbolGraph.self, from: data).symbols.filter { $0.location != nil }
let inOrder = symbols.sorted {
    guard let one = $0.location, let other = $1.location else { return false }
    return (one.uri, one.position.line) < (other.uri, other.position.line)
}
var lines: [String] = []

/// A line in which the names of all constants of a type within `owner` are replaced by a mention of that type.
func naming(_ line: String, in owner: [String]) -> String {
    var line = line
    for type in inOrder where type.owner == owner && type.isType {
        let names = inOrder.filter { $0.owner == type.pathComponents && $0.text.hasPrefix("static let ") }
            .compactMap(\.pathComponents.last)
        guard names.count > 1, let name = type.pathComponents.last else { continue }
        line = line.replacing(names.joined(separator: ", "), with: "(each \(name))")
    }
    return line
}

func list(_ owner: [String], indent: Int) {
    let members = inOrder.filter { $0.owner == owner && !$0.isType }
    var groups: [(constraints: [String], lines: [String])] = []
    for member in members {
        if let index = groups.firstIndex(where: { $0.constraints == member.constraints }) {
            groups[index].lines.append(member.text)
        } else {
            groups.append((member.constraints, [member.text]))
        }
    }
    for group in groups.sorted(by: { $0.constraints.count < $1.constraints.count }) {
        if !group.constraints.isEmpty {
            lines += broken("where " + group.constraints.joined(separator: ", "), indent: indent)
        }
        for line in merged(group.lines) {
            lines += broken(naming(line, in: owner), indent: indent + (group.constraints.isEmpty ? 0 : 4))
        }
    }
    for type in inOrder.filter({ $0.owner == owner && $0.isType }).sorted(by: {
        $0.pathComponents.joined(separator: ".") < $1.pathComponents.joined(separator: ".")
    }) {
        lines += broken(type.text, indent: indent)
        list(type.pathComponents, indent: indent + 4)
    }
}

list([], indent: 0)
print(lines.joined(separator: "\n"))
guard lines.count <= mostLines else {
    FileHandle.standardError.write(
        Data("\(lines.count) lines: more than \(mostLines)\n".utf8)
    )
    exit(1)
}
