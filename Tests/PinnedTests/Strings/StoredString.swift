/// A string, or bytes in hexadecimal digits, that is stored or derives a key: what it always was, and what the code has.
struct StoredString: Sendable {
    let name: String
    let always: String
    let now: String

    init(_ name: String, _ always: String, _ now: String) {
        (self.name, self.always, self.now) = (name, always, now)
    }

    /// Bytes: as text where they are printable ASCII, else in hexadecimal digits.
    init(_ name: String, _ always: String, bytes now: [UInt8]) {
        let isText = now.allSatisfy { (0x20..<0x7F).contains($0) }
        let digits = now.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        self.init(name, always, isText ? String(decoding: now, as: UTF8.self) : digits)
    }

    /// A whole list, in its order: nothing is added or lost unnoticed.
    init(_ name: String, _ always: [String], all now: [String]) {
        self.init(name, always.joined(separator: "\n"), now.joined(separator: "\n"))
    }
}
