public import CBOR

/// The body of a failed reply: `[LAError code, domain, code, remedy, seconds, fallback]`, each null if
/// unknown.
public struct Failure: WireBody, Sendable {
    /// The error, as it crosses the wire.
    public let error: KeychainError

    /// Wraps an error.
    public init(_ error: KeychainError) { self.error = error }

    /// Writes all but the status, which is in the reply's head.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 6)
        if let code = error.authentication?.code.rawValue {
            writer.write(Int64(code))
        } else {
            writer.writeNull()
        }
        writer.write(optionalText: error.cause?.domain)
        writer.write(optionalText: error.cause?.code)
        let (number, seconds) = Self.encode(error.remedy)
        writer.write(optionalUnsigned: number)
        if let seconds { writer.write(seconds) } else { writer.writeNull() }
        writer.write(optionalUnsigned: error.authentication?.fallback.flatMap(UInt64.init(exactly:)))
    }

    /// Reads a body of unknown status; use ``init(from:status:)``.
    public init(from reader: inout CBORReader) throws {
        try self.init(from: &reader, status: .internalComponent)
    }

    /// Reads the body of a reply with this status.
    public init(from reader: inout CBORReader, status: Status) throws {
        try reader.readFields(6)
        let code = try reader.readOptional { try $0.readInteger() }
        let domain = try reader.readOptional { try $0.readText() }
        let name = try reader.readOptional { try $0.readText() }
        let remedyNumber = try reader.readOptional { try $0.readUnsigned() }
        let seconds = try reader.readOptional { try $0.readInteger() }
        let fallback = try reader.readOptional { try $0.readUnsigned() }
        guard fallback ?? 0 < PromptDetails.mostFallbacks else { throw WireError.malformed }
        let remedy = Self.remedy(remedyNumber, seconds)
        var cause: DriverCause?
        if let domain, let name { cause = DriverCause(domain: domain, code: name) }
        let authentication = code.map {
            AuthenticationError(
                AuthenticationError.Code(rawValue: Int($0)),
                cause: cause,
                remedy: remedy,
                fallback: fallback.map(Int.init)
            )
        }
        error = KeychainError(status, authentication: authentication, cause: cause, remedy: remedy)
    }

    private static func encode(_ remedy: Remedy?) -> (UInt64?, Int64?) {
        switch remedy {
        case nil: (nil, nil)
        case .retry: (1, nil)
        case .usePasscode: (2, nil)
        case .enrolFinger: (3, nil)
        case .wait(let seconds): (4, seconds)
        case .setPasscode: (5, nil)
        case .unlock: (6, nil)
        case .recover: (7, nil)
        case .provideTerminal: (8, nil)
        case .check: (9, nil)
        }
    }

    private static func remedy(_ number: UInt64?, _ seconds: Int64?) -> Remedy? {
        switch number {
        case 1: .retry
        case 2: .usePasscode
        case 3: .enrolFinger
        case 4: .wait(seconds: seconds ?? 0)
        case 5: .setPasscode
        case 6: .unlock
        case 7: .recover
        case 8: .provideTerminal
        case 9: .check
        default: nil
        }
    }
}
