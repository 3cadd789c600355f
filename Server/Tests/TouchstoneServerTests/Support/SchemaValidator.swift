import WebAuthnModel

/// Validates values against the part of JSON Schema that the document uses.
struct SchemaValidator {
    let document: JSONValue

    /// The violations with their paths; empty if the value is valid.
    func faults(_ value: JSONValue, _ schema: JSONValue, at path: String = "") -> [String] {
        if let reference = schema["$ref"]?.string {
            let name = reference.split(separator: "/").last.map(String.init) ?? ""
            guard let target = document["components"]?["schemas"]?[name] else {
                return ["\(path): no \(reference)"]
            }
            return faults(value, target, at: path)
        }
        var faults: [String] = []
        if let type = schema["type"] {
            let names = type.array?.compactMap(\.string) ?? [type.string ?? ""]
            if !names.contains(Self.type(of: value)) {
                return ["\(path): \(Self.type(of: value)), not \(names)"]
            }
        }
        if let values = schema["enum"]?.array, !values.contains(value) {
            faults.append("\(path): \(value.text)")
        }
        if let pattern = schema["pattern"]?.string, let text = value.string {
            if let regex = try? Regex(pattern) {
                if text.wholeMatch(of: regex) == nil { faults.append("\(path): \(text) is not \(pattern)") }
            } else {
                faults.append("\(path): pattern \(pattern) is not valid")
            }
        }
        if let object = value.object {
            let properties = schema["properties"]?.object
            for name in schema["required"]?.array?.compactMap(\.string) ?? [] where object[name] == nil {
                faults.append("\(path): without \(name)")
            }
            for (name, member) in object.members {
                if let property = properties?[name] {
                    faults += self.faults(member, property, at: "\(path)/\(name)")
                } else if schema["additionalProperties"] == false {
                    faults.append("\(path): \(name) is not in the schema")
                }
            }
        }
        if let items = schema["items"], let array = value.array {
            for (index, element) in array.enumerated() {
                faults += self.faults(element, items, at: "\(path)/\(index)")
            }
        }
        return faults
    }

    private static func type(of value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "boolean"
        case .integer: "integer"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }
}
