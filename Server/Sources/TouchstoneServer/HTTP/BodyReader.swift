internal import Foundation
internal import HTTPTypes
internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore
internal import WebAuthnModel

/// Reads a request's body within its limits.
enum BodyReader {
    /// The maximum size of a body, in bytes.
    static let mostBytes = 64 * 1024

    /// The body as a JSON object.
    ///
    /// - Throws: ``Problem`` with `unsupported_media_type`, `content_too_large` or `invalid_request`.
    static func object(of request: Request) async throws -> JSONObject {
        let bytes = try await bytes(of: request, type: "application/json")
        let value: JSONValue
        do throws(JSONError) { value = try JSONValue(parsing: bytes) } catch {
            throw Problem(.invalidRequest, "\(error)")
        }
        guard let object = value.object else { throw Problem(.invalidRequest, "the body is no JSON object") }
        return object
    }

    /// The body as a form (RFC 6749, appendix B), without repeated parameters (section 3.2).
    static func form(of request: Request) async throws -> [String: String] {
        let bytes = try await bytes(of: request, type: "application/x-www-form-urlencoded")
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Problem(.invalidRequest, "the form is no UTF-8")
        }
        var form: [String: String] = [:]
        for pair in text.split(separator: "&") {
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let decoded = parts.map { $0.replacing("+", with: " ").removingPercentEncoding }
            guard let name = decoded[0], let value = decoded.count == 2 ? decoded[1] : "" else {
                throw Problem(.invalidRequest, "the form is malformed")
            }
            guard form.updateValue(value, forKey: name) == nil else {
                throw Problem(.invalidRequest, "a parameter comes twice")
            }
        }
        return form
    }

    private static func bytes(of request: Request, type: String) async throws -> [UInt8] {
        let fields = request.headers
        let given = fields[.contentType] ?? ""
        let bare = given.prefix { $0 != ";" }
        guard given == type || bare.trimmingCharacters(in: .whitespaces).lowercased() == type else {
            throw Problem(.unsupportedMediaType, "expected \(type)")
        }
        guard (fields[.contentEncoding] ?? "identity").lowercased() == "identity" else {
            throw Problem(.unsupportedMediaType, "a content encoding is not supported")
        }
        if let length = fields[.contentLength].flatMap({ Int($0) }), length > mostBytes {
            throw Problem(.contentTooLarge, "at most \(mostBytes) bytes")
        }
        do {
            return Array(buffer: try await request.body.collect(upTo: mostBytes))
        } catch is NIOTooManyBytesError {
            throw Problem(.contentTooLarge, "at most \(mostBytes) bytes")
        }
    }
}

/// Reads members of a JSON object and collects their faults, so that the client gets all of them at once.
struct MemberReader {
    private let object: JSONObject
    private let path: String
    private(set) var faults: [Problem.Fault] = []

    init(_ object: JSONObject, path: String = "") {
        self.object = object
        self.path = path
    }

    private mutating func fail(_ name: String, _ detail: String) {
        faults.append(Problem.Fault(pointer: "\(path)/\(name)", detail: detail))
    }

    /// A string with a length in bytes; empty after a fault.
    mutating func string(_ name: String, bytes: ClosedRange<Int>) -> String {
        guard let value = object[name] else {
            fail(name, "is missing")
            return ""
        }
        return checked(name, value, bytes) ?? ""
    }

    /// An optional string.
    mutating func optionalString(_ name: String, bytes: ClosedRange<Int>) -> String? {
        guard let value = object[name], value != .null else { return nil }
        return checked(name, value, bytes)
    }

    private mutating func checked(_ name: String, _ value: JSONValue, _ bytes: ClosedRange<Int>) -> String? {
        guard let text = value.string else {
            fail(name, "must be a string")
            return nil
        }
        guard bytes.contains(text.utf8.count) else {
            fail(name, "must have \(bytes.lowerBound) to \(bytes.upperBound) bytes")
            return nil
        }
        return text
    }

    /// A label: a string without control characters.
    mutating func label(_ name: String, bytes: ClosedRange<Int> = 1...128) -> String {
        let text = string(name, bytes: bytes)
        return printable(name, text)
    }

    /// An optional label.
    mutating func optionalLabel(_ name: String, bytes: ClosedRange<Int> = 1...128) -> String? {
        optionalString(name, bytes: bytes).map { printable(name, $0) }
    }

    private mutating func printable(_ name: String, _ text: String) -> String {
        if text.unicodeScalars.contains(where: { $0.properties.generalCategory == .control }) {
            fail(name, "must have no control characters")
        }
        return text
    }

    /// Bytes in base64url.
    mutating func bytes(_ name: String, count: ClosedRange<Int>) -> [UInt8] {
        guard let value = object[name] else {
            fail(name, "is missing")
            return []
        }
        guard let bytes = value.bytes, count.contains(bytes.count) else {
            fail(name, "must be base64url of \(count.lowerBound) to \(count.upperBound) bytes")
            return []
        }
        return bytes
    }

    /// Optional bytes in base64url.
    mutating func optionalBytes(_ name: String, count: ClosedRange<Int>) -> [UInt8]? {
        guard let value = object[name], value != .null else { return nil }
        return bytes(name, count: count)
    }

    /// An optional integer.
    mutating func optionalInteger(_ name: String, in range: ClosedRange<Int64>) -> Int64? {
        guard let value = object[name], value != .null else { return nil }
        guard let number = value.integer, range.contains(number) else {
            fail(name, "must be an integer from \(range.lowerBound) to \(range.upperBound)")
            return nil
        }
        return number
    }

    /// An optional Boolean.
    mutating func optionalBool(_ name: String) -> Bool? {
        guard let value = object[name], value != .null else { return nil }
        guard let flag = value.bool else {
            fail(name, "must be true or false")
            return nil
        }
        return flag
    }

    /// The resource and the scope that new tokens are for.
    mutating func audience() -> WantedAudience {
        WantedAudience(
            resource: optionalString("resource", bytes: 1...256),
            scope: optionalString("scope", bytes: 1...1024)
        )
    }

    /// A case of an enumeration.
    mutating func choice<Choice: RawRepresentable & CaseIterable>(_ name: String, default value: Choice)
        -> Choice
    where Choice.RawValue == String {
        guard let text = optionalString(name, bytes: 0...64) else { return value }
        guard let choice = Choice(rawValue: text) else {
            fail(name, "must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
            return value
        }
        return choice
    }

    /// A case of an enumeration that has to be there; nil after a fault.
    mutating func requiredChoice<Choice: RawRepresentable & CaseIterable>(_ name: String) -> Choice?
    where Choice.RawValue == String {
        let text = string(name, bytes: 0...64)
        guard object[name] != nil else { return nil }
        let choice = Choice(rawValue: text)
        if choice == nil {
            fail(name, "must be one of \(Choice.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        return choice
    }

    /// An object.
    mutating func object(_ name: String) -> JSONValue {
        guard let value = object[name] else {
            fail(name, "is missing")
            return .null
        }
        if value.object == nil { fail(name, "must be an object") }
        return value
    }

    /// An optional array of bytes in base64url.
    mutating func optionalByteArrays(
        _ name: String,
        elements: ClosedRange<Int>,
        count: ClosedRange<Int>
    ) -> [[UInt8]]? {
        guard let value = object[name], value != .null else { return nil }
        guard let array = value.array, elements.contains(array.count) else {
            fail(name, "must be an array of \(elements.lowerBound) to \(elements.upperBound) elements")
            return nil
        }
        var result: [[UInt8]] = []
        for (index, element) in array.enumerated() {
            if let bytes = element.bytes, count.contains(bytes.count) {
                result.append(bytes)
            } else {
                fail(
                    "\(name)/\(index)",
                    "must be base64url of \(count.lowerBound) to \(count.upperBound) bytes"
                )
            }
        }
        return result
    }

    /// Finishes reading.
    ///
    /// - Throws: ``Problem`` with `invalid_request` if there were faults.
    func finish() throws(Problem) {
        guard !faults.isEmpty else { return }
        var problem = Problem(.invalidRequest, "members of the body are wrong")
        problem.faults = faults
        throw problem
    }
}
