internal import CBOR

extension AccessGroup {
    /// The group of the daemon's records of reads: only the command looks them up, and nobody changes them.
    public static let reads: AccessGroup = {
        guard let group = AccessGroup("touchstone.reads") else {
            preconditionFailure("a constant name is a valid name")
        }
        return group
    }()
}

/// That a program got secrets, or used a private key, as the daemon records it for the user.
public struct SecretRead: Sendable, Equatable {
    /// What was done.
    public enum Method: String, Sendable, CaseIterable {
        /// Secrets of items were read.
        case read = "read"
        /// A private key signed.
        case sign = "sign"
        /// A private key was part of a key agreement.
        case agree = "agree"
        /// A private key decrypted.
        case decrypt = "decrypt"
    }

    /// The most items of a read that are named.
    public static let mostReferences = 8
    /// The longest text in a record, in bytes; of a longer one the beginning is kept.
    static let longestText = 512

    /// The last time, in microseconds since 1970.
    public var time: Int64
    /// How often, without anything else between.
    public var times: UInt64
    /// What was done.
    public let method: Method
    /// ``Caller/Door``'s name; nil for a program that asked itself.
    public let door: String?
    /// The program's path; nil if it is unknown.
    public let program: String?
    /// Its process.
    public let process: Int32
    /// ``Caller/startedBy``.
    public let startedBy: String
    /// The access group that was asked.
    public let group: String
    /// By what the items were asked for, or what a key was used for; empty for nothing.
    public let name: String
    /// How many secrets were read, or keys used.
    public let count: UInt64
    /// The items that were asked for by their references, at most ``mostReferences``.
    public let references: [PersistentReference]
    /// What the user had shown for this request, or for the others of its context.
    public let factors: Set<AuthenticationFactor>

    /// Describes a use; long texts are cut.
    package init(
        time: Int64,
        method: Method,
        caller: Caller,
        group: String,
        name: String,
        count: Int,
        references: [PersistentReference],
        factors: Set<AuthenticationFactor>
    ) {
        self.time = time
        times = 1
        self.method = method
        door = caller.door?.rawValue
        program = caller.program.map(Self.cut)
        process = caller.pid
        startedBy = Self.cut(caller.startedBy)
        self.group = Self.cut(group)
        self.name = Self.cut(name)
        self.count = UInt64(clamping: count)
        self.references = Array(references.prefix(Self.mostReferences))
        self.factors = factors
    }

    /// Whether another use is the same but for its time.
    package func isRepeated(by other: Self) -> Bool {
        var other = other
        (other.time, other.times) = (time, times)
        return other == self
    }

    private static func cut(_ text: String) -> String {
        guard text.utf8.count > longestText else { return text }
        var kept = ""
        for character in text {
            guard kept.utf8.count + character.utf8.count <= longestText - 3 else { break }
            kept.append(character)
        }
        return kept + "\u{2026}"
    }
}

/// Some records in the order of their times, as they are stored: the array `[1, record…]`, where 1 is the version of the form.
///
/// A record is `[time, times, method, door, program, process, started by, group, name, count, references, factors]`, with null for
/// what is not known.
public struct SecretReads: Sendable, Equatable {
    /// The most records stored together.
    package static let most = 128
    private static let version: UInt64 = 1
    private static let limits = CBORLimits(depth: 4)

    /// The records.
    public let reads: [SecretRead]

    /// No records.
    public static let none = SecretReads([])

    /// Wraps records.
    package init(_ reads: [SecretRead]) { self.reads = reads }

    /// Reads what was stored.
    ///
    /// - Throws: ``KeychainError`` with `errSecDecode` for anything else, and for a later version's form.
    public init(_ octets: Span<UInt8>) throws(KeychainError) {
        let reads = try? CBORReader.read(octets, limits: Self.limits) { reader in
            let count = try reader.readArrayHead()
            guard count > 0, try reader.readUnsigned() == Self.version else { throw WireError.malformed }
            return try (1..<count).map { _ in try SecretRead(from: &reader) }
        }
        guard let reads else { throw KeychainError(.decode) }
        self.reads = reads
    }

    /// The stored form.
    package var octets: [UInt8] {
        var writer = CBORWriter([UInt8]())
        writer.writeArrayHead(count: 1 + reads.count)
        writer.write(unsigned: Self.version)
        for read in reads { read.write(to: &writer) }
        return writer.finish()
    }
}

extension SecretRead {
    fileprivate func write(to writer: inout CBORWriter<[UInt8]>) {
        writer.writeArrayHead(count: 12)
        writer.write(time)
        writer.write(unsigned: times)
        writer.write(text: method.rawValue)
        for text in [door, program] {
            if let text { writer.write(text: text) } else { writer.writeNull() }
        }
        writer.write(Int64(process))
        writer.write(text: startedBy)
        writer.write(text: group)
        writer.write(text: name)
        writer.write(unsigned: count)
        writer.writeArrayHead(count: references.count)
        for reference in references { writer.write(bytes: reference.octets) }
        writer.writeArrayHead(count: factors.count)
        for factor in factors.map(\.rawValue).sorted() { writer.write(unsigned: UInt64(factor)) }
    }

    fileprivate init(from reader: inout CBORReader) throws {
        guard try reader.readArrayHead() == 12 else { throw WireError.malformed }
        time = try reader.readInteger()
        times = try reader.readUnsigned()
        guard let method = Method(rawValue: try reader.readText()) else { throw WireError.malformed }
        self.method = method
        door = try reader.readNullIfPresent() ? nil : try reader.readText()
        program = try reader.readNullIfPresent() ? nil : try reader.readText()
        guard let process = Int32(exactly: try reader.readInteger()) else { throw WireError.malformed }
        self.process = process
        startedBy = try reader.readText()
        group = try reader.readText()
        name = try reader.readText()
        count = try reader.readUnsigned()
        references = try (0..<(try reader.readArrayHead())).map { _ in
            guard let reference = PersistentReference(octets: try reader.readBytes()) else {
                throw WireError.malformed
            }
            return reference
        }
        let factors = try (0..<(try reader.readArrayHead())).compactMap { _ in
            UInt8(exactly: try reader.readUnsigned()).flatMap(AuthenticationFactor.init)
        }
        self.factors = Set(factors)
    }
}
