import MessageBus

/// What a transcript's names stand for in one run: the first new session that comes is `$session1`, and so on.
///
/// The recorder and the player both name what comes, in the order of the transcript; so what comes has the recorded text, or differs.
struct TranscriptNames {
    /// What an encrypted secret says: by its session's path, its vector and its bytes; nil if nobody can tell.
    typealias Unsealing = (_ session: String, _ vector: [UInt8], _ octets: [UInt8]) -> [UInt8]?
    /// A secret for a session: a vector and bytes.
    typealias Sealing = (_ session: String, _ text: [UInt8]) throws -> (vector: [UInt8], octets: [UInt8])

    /// A value that cannot be sent.
    struct Unsendable: Error {
        let text: String
    }

    static let secretSignature = "(oayays)"
    private static let root = SecretServiceWorld.root
    /// The paths of objects by kind, without the service's own, in the order in which they were seen.
    private var known: [String: [String]] = [:]
    private var isSorted = true

    // MARK: Naming

    /// Spells the values of a message, or of the reply to a call of the member.
    ///
    /// Lists of paths that come from the service are sorted, because they come in whatever order.
    mutating func text(
        of values: [BusValue],
        at member: String,
        isSorted: Bool = true,
        _ unseal: Unsealing
    ) -> String {
        guard !values.isEmpty else { return "" }
        self.isSorted = isSorted
        let texts = values.map { value in
            // The public values of an agreement.
            if member == "OpenSession", case .variant(.octets) = value {
                return TranscriptValue.variant("ay", .name("key")).text
            }
            return name(value, unseal).text
        }
        return values.map(\.signature).joined() + ": " + texts.joined(separator: " ")
    }

    /// Spells a value that came.
    private mutating func name(_ value: BusValue, _ unseal: Unsealing) -> TranscriptValue {
        switch value {
        case .string(let text) where text.hasPrefix("<!DOCTYPE node"): return .name("introspection")
        case .string(let text), .signature(let text): return .text(text)
        case .objectPath(let path): return .path(name(path: path))
        // Seconds since 1970.
        case .uint64(let number) where number > 1_500_000_000 && number < 5_000_000_000: return .name("time")
        case .uint64(let number): return .plain("\(number)")
        case .byte(let number): return .plain("\(number)")
        case .int32(let number): return .plain("\(number)")
        case .uint32(let number): return .plain("\(number)")
        case .int64(let number): return .plain("\(number)")
        case .double(let number): return .plain("\(number)")
        case .boolean(let truth): return .plain("\(truth)")
        case .octets(let octets): return .octets(octets.plain)
        case .descriptor: return .name("descriptor")
        case .variant(let content): return .variant(content.signature, name(content, unseal))
        case .entry(let key, let value): return .members([name(key, unseal), name(value, unseal)])
        case .array(of: let element, let values):
            let values =
                isSorted && (element.hasPrefix("o") || element.hasPrefix("{o")) ? knownFirst(values) : values
            guard element.hasPrefix("{") else { return .list(values.map { name($0, unseal) }) }
            var pairs: [TranscriptValue.Pair] = []
            for case .entry(let key, let value) in values {
                pairs.append(TranscriptValue.Pair(key: name(key, unseal), value: name(value, unseal)))
            }
            // Dictionaries have no order.
            return .pairs(element.hasPrefix("{o") ? pairs : pairs.sorted { $0.key.text < $1.key.text })
        case .structure(let members):
            guard value.signature == Self.secretSignature, let session = members[0].text,
                let vector = members[1].octets?.plain, let octets = members[2].octets?.plain, !vector.isEmpty
            else { return .members(members.map { name($0, unseal) }) }
            return .members([
                name(members[0], unseal), .name("vector"),
                unseal(session, vector, octets).map(TranscriptValue.sealed) ?? .name("unreadable"),
                name(members[3], unseal),
            ])
        }
    }

    /// Paths in an order that does not depend on the run: the specification gives none.
    private func knownFirst(_ values: [BusValue]) -> [BusValue] {
        func rank(_ value: BusValue) -> (Int, String) {
            guard case .entry(let key, _) = value else { return self.rank(path: value.text ?? "") }
            return self.rank(path: key.text ?? "")
        }
        return values.sorted { rank($0) < rank($1) }
    }

    private func rank(path: String) -> (Int, String) {
        guard let (kind, object, _) = Self.variable(in: path) else { return (-1, path) }
        guard let index = known[kind]?.firstIndex(of: object) else { return (.max, path) }
        return (index, "")
    }

    /// The part of a path that differs in each run; nil if there is none.
    private static func variable(in path: String) -> (kind: String, object: String, component: Substring)? {
        guard path.hasPrefix(root + "/") else { return nil }
        let object = String(path.dropFirst(root.count + 1))
        let parts = object.split(separator: "/", omittingEmptySubsequences: false)
        switch (parts[0], parts.count) {
        case ("session", 2), ("prompt", 2): return (String(parts[0]), object, parts[1])
        // Another service numbers the items of each collection.
        case ("collection", 3), ("aliases", 3): return ("item", object, parts[2])
        default: return nil
        }
    }

    /// Spells a path.
    mutating func name(path: String) -> String {
        guard path == Self.root || path.hasPrefix(Self.root + "/") else { return path }
        let short = "~" + path.dropFirst(Self.root.count)
        guard let (kind, object, component) = Self.variable(in: path) else { return short }
        let index = known[kind]?.firstIndex(of: object) ?? known[kind, default: []].count
        if index == known[kind, default: []].count { known[kind, default: []].append(object) }
        return short.dropLast(component.count) + "$\(kind)\(index + 1)"
    }

    // MARK: Resolving

    /// The path that a text stands for.
    ///
    /// A name that stands for nothing yet is an object that no answer ever named: it stays one that is not there.
    mutating func path(_ text: String) throws -> String {
        let full = text.hasPrefix("~") ? Self.root + text.dropFirst() : text
        guard let mark = full.lastIndex(of: "$") else { return full }
        let name = full[full.index(after: mark)...]
        let kind = String(name.prefix { !$0.isNumber })
        guard let number = Int(name.dropFirst(kind.count)), number > 0,
            ["item", "session", "prompt"].contains(kind)
        else { throw Unsendable(text: text) }
        let place = full.dropFirst(Self.root.count + 1)[..<mark]
        if number == known[kind, default: []].count + 1 {
            known[kind, default: []].append(String(place) + name)
        }
        guard let object = known[kind]?.dropFirst(number - 1).first, object.hasPrefix(place) else {
            throw Unsendable(text: text)
        }
        return Self.root + "/" + object
    }

    /// A value to send.
    mutating func value(_ value: TranscriptValue, _ type: String, _ seal: Sealing) throws -> BusValue {
        switch (value, type.first) {
        case (.text(let text), "g"): return .signature(text)
        case (.text(let text), _): return .string(text)
        case (.path(let text), _): return .objectPath(try path(text))
        case (.octets(let octets), _): return .octets(try BusOctets(copying: octets))
        case (.variant(let signature, let content), _):
            return .variant(try self.value(content, signature, seal))
        case (.list(let values), _):
            let element = String(type.dropFirst())
            return .array(of: element, try values.map { try self.value($0, element, seal) })
        case (.pairs(let pairs), _):
            let types = TranscriptValue.types(of: type.dropFirst(2).dropLast())
            return .array(
                of: String(type.dropFirst()),
                try pairs.map {
                    .entry(try self.value($0.key, types[0], seal), try self.value($0.value, types[1], seal))
                }
            )
        case (.members(let members), _): return try structure(members, type, seal)
        case (.plain(let text), _): return try Self.number(text, type)
        case (.name, _), (.sealed, _): throw Unsendable(text: value.text)
        }
    }

    private mutating func structure(
        _ members: [TranscriptValue],
        _ type: String,
        _ seal: Sealing
    ) throws -> BusValue {
        let types = TranscriptValue.types(of: type.dropFirst().dropLast())
        guard types.count == members.count else {
            throw Unsendable(text: TranscriptValue.members(members).text)
        }
        guard type == Self.secretSignature, case .path(let session) = members[0],
            case .sealed(let text) = members[2]
        else {
            return .structure(try zip(members, types).map { try value($0, $1, seal) })
        }
        let (vector, octets) = try seal(try path(session), text)
        return .structure([
            .objectPath(try path(session)), .octets(try BusOctets(copying: vector)),
            .octets(try BusOctets(copying: octets)), try value(members[3], "s", seal),
        ])
    }

    private static func number(_ text: String, _ type: String) throws -> BusValue {
        let value: BusValue? =
            switch type {
            case "b": Bool(text).map(BusValue.boolean)
            case "y": UInt8(text).map(BusValue.byte)
            case "i": Int32(text).map(BusValue.int32)
            case "u": UInt32(text).map(BusValue.uint32)
            case "x": Int64(text).map(BusValue.int64)
            case "t": UInt64(text).map(BusValue.uint64)
            case "d": Double(text).map(BusValue.double)
            default: nil
            }
        guard let value else { throw Unsendable(text: text) }
        return value
    }
}
