// Lists the public symbols of a module that have no doc comment, and those missing from its page's topics.
//
//   swift Scripts/documentation.swift SYMBOLS.json PAGE.json
//
// SYMBOLS.json is the module's symbol graph, without synthesized members and inherited comments; PAGE.json the module's page as
// rendered by DocC. The exit status is 1 if there is such a symbol.

import Foundation

/// The parts of a symbol graph used here.
struct SymbolGraph: Decodable {
    struct Symbol: Decodable {
        struct Identifier: Decodable { let precise: String }
        struct Kind: Decodable { let displayName: String }
        struct Comment: Decodable {}
        struct Location: Decodable {}

        let identifier: Identifier
        let kind: Kind
        let pathComponents: [String]
        let docComment: Comment?
        /// Nil for compiler-generated symbols, such as `init(rawValue:)` of an enumeration.
        let location: Location?
    }

    let symbols: [Symbol]
}

/// The parts of a rendered page used here.
struct Page: Decodable {
    struct Section: Decodable {
        /// Whether DocC generated it for symbols that the page itself does not list.
        let generated: Bool?
        let identifiers: [String]
    }

    let topicSections: [Section]?
}

func decode<Value: Decodable>(_ type: Value.Type, _ path: String) throws -> Value {
    try JSONDecoder().decode(type, from: Data(contentsOf: URL(fileURLWithPath: path)))
}

let paths = CommandLine.arguments.dropFirst()
guard paths.count == 2, let graphPath = paths.first, let pagePath = paths.last else {
    print("usage: swift Scripts/documentation.swift SYMBOLS.json PAGE.json")
    exit(64)
}
let graph = try decode(SymbolGraph.self, graphPath)
var faults: [String] = []
if graph.symbols.isEmpty { faults.append("\(graphPath): no public symbol") }
for symbol in graph.symbols where symbol.docComment == nil && symbol.location != nil {
    let name = symbol.pathComponents.joined(separator: ".")
    faults.append("\(symbol.kind.displayName) \(name): no doc comment")
}
for section in try decode(Page.self, pagePath).topicSections ?? [] where section.generated == true {
    for identifier in section.identifiers {
        faults.append("\(identifier): under no topic of its module's page")
    }
}
for fault in faults { FileHandle.standardError.write(Data("\(fault)\n".utf8)) }
exit(faults.isEmpty ? 0 : 1)
