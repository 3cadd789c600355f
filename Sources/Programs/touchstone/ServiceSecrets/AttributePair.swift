import ArgumentParser

/// An attribute of a secret on the command line.
struct AttributePair: ExpressibleByArgument {
    static let help = ArgumentHelp(
        "An attribute that they have; may be given several times.",
        valueName: "name=value"
    )

    let name: String
    let value: String

    init?(argument: String) {
        guard let sign = argument.firstIndex(of: "="), sign > argument.startIndex else { return nil }
        name = String(argument[..<sign])
        value = String(argument[argument.index(after: sign)...])
    }

    /// The attributes by name; of several values for a name the last counts.
    static func dictionary(_ pairs: [AttributePair], schema: String? = nil) -> [String: String] {
        var attributes = Dictionary(pairs.map { ($0.name, $0.value) }) { _, last in last }
        if let schema { attributes["xdg:schema"] = schema }
        return attributes
    }

    /// Attributes as they are written on the command line.
    static func text(_ attributes: [String: String]) -> String {
        attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " ")
    }
}
