package import AccountStore

/// A value in a database: both have these four types, and only these are stored.
package enum SQLValue: Sendable, Equatable {
    case null
    case integer(Int64)
    case text(String)
    case bytes([UInt8])

    package static func of<Subject>(_ id: Identifier<Subject>) -> Self { .bytes(id.bytes) }
    package static func of<Subject>(_ id: Identifier<Subject>?) -> Self {
        id.map { .bytes($0.bytes) } ?? .null
    }
    package static func of(_ digest: TokenDigest) -> Self { .bytes(digest.bytes) }
    package static func of(_ bytes: [UInt8]?) -> Self { bytes.map { .bytes($0) } ?? .null }
    package static func of(_ text: String?) -> Self { text.map { .text($0) } ?? .null }
    package static func of(_ time: Timestamp) -> Self { .integer(time.milliseconds) }
    package static func of(_ time: Timestamp?) -> Self { time.map { .integer($0.milliseconds) } ?? .null }
    package static func of(_ duration: Duration) -> Self { .integer(duration.milliseconds) }
    package static func of(_ flag: Bool) -> Self { .integer(flag ? 1 : 0) }
    package static func of(_ number: some BinaryInteger) -> Self { .integer(Int64(number)) }
    package static func of<Word: RawRepresentable<String>>(_ word: Word) -> Self { .text(word.rawValue) }
    package static func of<Word: RawRepresentable<String>>(_ word: Word?) -> Self {
        word.map { .text($0.rawValue) } ?? .null
    }
}

/// A row, whose columns are read one after the other.
///
/// A value of another type than was written is damage, and the error names the column.
package struct SQLRow: Sendable {
    private let values: [SQLValue]
    private var column = 0

    package init(_ values: [SQLValue]) { self.values = values }

    private mutating func next() -> SQLValue {
        defer { column += 1 }
        return column < values.count ? values[column] : .null
    }

    private func damage() -> StoreError { StoreError(.damaged, cause: "column \(column) of \(values.count)") }

    package mutating func optionalInteger() throws(StoreError) -> Int64? {
        switch next() {
        case .null: nil
        case .integer(let number): number
        default: throw damage()
        }
    }

    package mutating func optionalText() throws(StoreError) -> String? {
        switch next() {
        case .null: nil
        case .text(let text): text
        default: throw damage()
        }
    }

    package mutating func optionalBytes() throws(StoreError) -> [UInt8]? {
        switch next() {
        case .null: nil
        case .bytes(let bytes): bytes
        default: throw damage()
        }
    }

    package mutating func integer() throws(StoreError) -> Int64 { try some(optionalInteger()) }
    package mutating func text() throws(StoreError) -> String { try some(optionalText()) }
    package mutating func bytes() throws(StoreError) -> [UInt8] { try some(optionalBytes()) }
    package mutating func flag() throws(StoreError) -> Bool { try integer() != 0 }
    package mutating func time() throws(StoreError) -> Timestamp { Timestamp(milliseconds: try integer()) }
    package mutating func duration() throws(StoreError) -> Duration { .milliseconds(try integer()) }

    package mutating func optionalTime() throws(StoreError) -> Timestamp? {
        try optionalInteger().map { Timestamp(milliseconds: $0) }
    }

    package mutating func id<Subject>() throws(StoreError) -> Identifier<Subject> { Identifier(try bytes()) }

    package mutating func optionalID<Subject>() throws(StoreError) -> Identifier<Subject>? {
        try optionalBytes().map { Identifier($0) }
    }

    package mutating func word<Word: RawRepresentable<String>>() throws(StoreError) -> Word {
        try some(Word(rawValue: try text()))
    }

    package mutating func optionalWord<Word: RawRepresentable<String>>() throws(StoreError) -> Word? {
        guard let text = try optionalText() else { return nil }
        return try some(Word(rawValue: text))
    }

    private func some<Value>(_ value: Value?) throws(StoreError) -> Value {
        guard let value else { throw damage() }
        return value
    }
}
