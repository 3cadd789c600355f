public import CBOR

/// The protection against theft: `[mode, places, present network, why there is none, waiting changes]`, where a network is
/// `[profile, name]` and a waiting change `[change, seconds left]`.
public struct ProtectionReply: WireBody, Sendable, Equatable {
    /// The most trusted places.
    public static let mostPlaces = 32
    /// When changes of credentials have to wait.
    public let mode: TheftProtection
    /// The trusted places.
    public let places: [NetworkPlace]
    /// The present network; nil if none tells where the machine is.
    public let here: NetworkPlace?
    /// Why ``here`` is nil.
    public let fault: PlaceError?
    /// The changes that wait, or waited and can be made now.
    public let waiting: [WaitingChange]

    /// Whether the machine is in a trusted place.
    public var isInTrustedPlace: Bool { here.map(places.contains) ?? false }
    /// Whether changes have to wait now.
    public var isEffective: Bool {
        switch mode {
        case .off: false
        case .away: !isInTrustedPlace
        case .always: true
        }
    }

    /// Describes the protection; at most ``mostPlaces`` places.
    public init(
        mode: TheftProtection,
        places: [NetworkPlace],
        here: Result<NetworkPlace, PlaceError>,
        waiting: [WaitingChange]
    ) {
        self.mode = mode
        self.places = places
        self.waiting = waiting
        switch here {
        case .success(let place): (self.here, fault) = (place, nil)
        case .failure(let error): (self.here, fault) = (nil, error)
        }
    }

    /// Writes the protection.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 5)
        writer.write(unsigned: UInt64(mode.rawValue))
        writer.writeArrayHead(count: places.count)
        for place in places { place.encode(to: &writer) }
        if let here { here.encode(to: &writer) } else { writer.writeNull() }
        writer.write(optionalText: fault?.rawValue)
        writer.writeArrayHead(count: waiting.count)
        for wait in waiting {
            writer.writeArrayHead(count: 2)
            writer.write(unsigned: UInt64(wait.change.rawValue))
            writer.write(wait.secondsLeft)
        }
    }

    /// Reads the protection; changes of a later version are left out.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(5)
        guard let mode = UInt8(exactly: try reader.readUnsigned()).flatMap(TheftProtection.init) else {
            throw WireError.malformed
        }
        self.mode = mode
        let count = try reader.readArrayHead()
        guard count <= Self.mostPlaces else { throw WireError.malformed }
        places = try (0..<count).map { _ in try NetworkPlace(from: &reader) }
        here = try reader.readOptional { try NetworkPlace(from: &$0) }
        fault = try reader.readOptional { try $0.readText() }.flatMap(PlaceError.init)
        let waits = try reader.readArrayHead()
        guard waits <= CredentialChange.allCases.count else { throw WireError.malformed }
        waiting = try (0..<waits).compactMap { _ in
            try reader.readFields(2)
            let change = UInt8(exactly: try reader.readUnsigned()).flatMap(CredentialChange.init)
            let left = try reader.readInteger()
            return change.map { WaitingChange($0, secondsLeft: left) }
        }
    }
}

extension NetworkPlace: WireBody {
    /// Writes the profile and the name.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 2)
        writer.write(text: profile)
        writer.write(bytes: name)
    }

    /// Reads a profile and a name.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(2)
        let (profile, name) = (try reader.readText(), try reader.readBytes())
        guard let place = NetworkPlace(profile: profile, name: name) else { throw WireError.malformed }
        self = place
    }
}

/// Changes the protection against theft: `[kind, value, prompt]`.
public struct ChangeProtection: WireBody, Sendable, Equatable {
    /// What is changed.
    public enum Change: Sendable, Equatable {
        /// When changes of credentials have to wait.
        case mode(TheftProtection)
        /// Trusts the present network.
        case trustHere
        /// Trusts the networks of a name no more.
        case distrust([UInt8])
    }

    /// What is changed.
    public let change: Change
    /// How to prompt.
    public let prompt: PromptFields

    /// Describes the change.
    public init(_ change: Change, prompt: PromptFields) {
        self.change = change
        self.prompt = prompt
    }

    /// Writes the request.
    public func encode(to writer: inout WireWriter) {
        writer.writeArrayHead(count: 3)
        switch change {
        case .mode(let mode):
            writer.write(unsigned: 0)
            writer.write(unsigned: UInt64(mode.rawValue))
        case .trustHere:
            writer.write(unsigned: 1)
            writer.writeNull()
        case .distrust(let name):
            writer.write(unsigned: 2)
            writer.write(bytes: name)
        }
        prompt.encode(to: &writer)
    }

    /// Reads the request.
    public init(from reader: inout CBORReader) throws {
        try reader.readFields(3)
        switch try reader.readUnsigned() {
        case 0:
            guard let mode = UInt8(exactly: try reader.readUnsigned()).flatMap(TheftProtection.init) else {
                throw KeychainError(.param)
            }
            change = .mode(mode)
        case 1:
            try reader.readNull()
            change = .trustHere
        case 2:
            let name = try reader.readBytes()
            guard (1...NetworkPlace.longestName).contains(name.count) else { throw KeychainError(.param) }
            change = .distrust(name)
        default: throw WireError.malformed
        }
        prompt = try PromptFields(from: &reader)
    }
}
