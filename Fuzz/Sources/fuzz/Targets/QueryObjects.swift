import Foundation
import KeychainModel
import Security

/// A value of a query dictionary, as an app might pass it by mistake or on purpose.
indirect enum QueryValue {
    case knownText(Int)
    case text(String)
    case mutableText(String)
    case flag(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case double(Double)
    case decimal(String)
    case data([UInt8])
    case mutableData([UInt8])
    case date(Double)
    case null
    case list([QueryValue])
    case dictionary([(QueryValue, QueryValue)])
    case accessControl(Int)
    case url
    case uuid
    case set([QueryValue])
    case other
    case attributes([(QueryValue, QueryValue)])
    case key(Int)

    /// Deeper nesting adds no new case.
    private static let greatestDepth = 6

    /// Texts with a meaning in a query: keys first, then values.
    static let knownTexts = [
        "class", "acct", "svce", "srvr", "agrp", "sync", "labl", "desc", "icmt", "gena", "crtr", "type",
        "invi", "nega",
        "cdat", "mdat", "pdmn", "accc", "tkid", "sdmn", "ptcl", "atyp", "port", "path", "vwht", "v_Data",
        "v_Ref",
        "v_PersistentRef", "r_Data", "r_Attributes", "r_Ref", "r_PersistentRef", "m_Limit", "m_ItemList",
        "m_CaseInsensitive", "m_Policy", "u_AuthCtx", "u_OpPrompt", "u_AuthUI", "u_NoAuthUI", "u_ItemList",
        "nleg",
        "kcls", "klbl", "atag", "bsiz", "unknown",
        "genp", "inet", "keys", "cert", "idnt", "ak", "ck", "dk", "akpu", "aku", "cku", "dku", "syna",
        "m_LimitOne",
        "m_LimitAll", "u_AuthUIA", "u_AuthUIF", "u_AuthUIS", "alice", "",
        "private", "public", "perm", "42", "73", "0", "1", "256", "2048", "com.apple.setoken", "esiz", "encr",
        "decr", "drve", "sign", "vrfy", "wrap", "unwp", "sens", "extr", "m_HostOrSubdomainOfHost",
        "u_UserIndependentKeychain",
    ]

    init(_ choices: inout Choices, depth: Int = 0) {
        let kind = choices.octet() % 22
        let isDeep = depth >= Self.greatestDepth
        switch kind {
        case 0, 1: self = .knownText(Int(choices.octet()) % Self.knownTexts.count)
        case 2: self = .text(choices.text())
        case 3: self = .mutableText(choices.text())
        case 4: self = .flag(choices.octet() & 1 == 1)
        case 5: self = .integer(Int64(bitPattern: choices.number()))
        case 6: self = .unsigned(choices.number())
        case 7: self = .double(Double(bitPattern: choices.number()))
        case 8: self = .decimal(choices.text())
        case 9: self = .data(choices.octetString())
        case 10: self = .mutableData(choices.octetString())
        case 11: self = .date(Double(bitPattern: choices.number()))
        case 12 where !isDeep: self = .list(Self.values(&choices, depth))
        case 13 where !isDeep:
            self = .dictionary(Self.values(&choices, depth).map { ($0, .knownText(0)) })
        case 14: self = .accessControl(Int(choices.octet()) % Example.accessControls.count)
        case 15: self = .url
        case 16: self = .uuid
        case 17 where !isDeep: self = .set(Self.values(&choices, depth))
        case 18: self = .other
        case 20 where !isDeep: self = .attributes(Self.pairs(&choices, depth: depth + 1))
        case 21: self = .key(Int(choices.octet()) % Example.keys.count)
        default: self = .null
        }
    }

    /// A byte that ends a dictionary before the end of the input.
    static let end: UInt8 = 0xFF
    private static let mostPairs = 64

    /// Keys, mostly known ones, and values, up to ``end``.
    static func pairs(_ choices: inout Choices, depth: Int = 0) -> [(QueryValue, QueryValue)] {
        var pairs: [(QueryValue, QueryValue)] = []
        while !choices.isAtEnd, pairs.count < mostPairs {
            let octet = choices.octet()
            if octet == end { break }
            let key =
                octet < knownTexts.count ? knownText(Int(octet)) : QueryValue(&choices, depth: depth)
            pairs.append((key, QueryValue(&choices, depth: depth)))
        }
        return pairs
    }

    /// Writes pairs for ``pairs(_:depth:)``, without an end.
    static func write(_ pairs: [(String, QueryValue)], to writer: inout ChoiceWriter) {
        for (key, value) in pairs {
            writer.write(UInt8(knownTexts.firstIndex(of: key) ?? 0))
            value.write(to: &writer)
        }
    }

    /// A known text.
    static func known(_ text: String) -> QueryValue { .knownText(knownTexts.firstIndex(of: text) ?? 0) }

    private static func values(_ choices: inout Choices, _ depth: Int) -> [QueryValue] {
        (0..<Int(choices.octet() % 8)).map { _ in QueryValue(&choices, depth: depth + 1) }
    }

    /// Writes a value for ``init(_:depth:)``.
    func write(to writer: inout ChoiceWriter) {
        func kind(_ number: UInt8) { writer.write(number) }
        switch self {
        case .knownText(let index): kind(0); writer.write(UInt8(index))
        case .text(let text): kind(2); writer.write(text)
        case .mutableText(let text): kind(3); writer.write(text)
        case .flag(let flag): kind(4); writer.write(UInt8(flag ? 1 : 0))
        case .integer(let number): kind(5); writer.write(UInt64(bitPattern: number))
        case .unsigned(let number): kind(6); writer.write(number)
        case .double(let number): kind(7); writer.write(number.bitPattern)
        case .decimal(let text): kind(8); writer.write(text)
        case .data(let octets): kind(9); writer.write(octets)
        case .mutableData(let octets): kind(10); writer.write(octets)
        case .date(let seconds): kind(11); writer.write(seconds.bitPattern)
        case .list(let values): kind(12); Self.write(values, to: &writer)
        case .dictionary(let pairs): kind(13); Self.write(pairs.map(\.0), to: &writer)
        case .accessControl(let index): kind(14); writer.write(UInt8(index))
        case .url: kind(15)
        case .uuid: kind(16)
        case .set(let values): kind(17); Self.write(values, to: &writer)
        case .other: kind(18)
        case .null: kind(19)
        case .attributes(let pairs):
            kind(20)
            for (key, value) in pairs {
                guard case .knownText(let index) = key else { continue }
                writer.write(UInt8(index))
                value.write(to: &writer)
            }
            writer.write(Self.end)
        case .key(let index): kind(21); writer.write(UInt8(index))
        }
    }

    private static func write(_ values: [QueryValue], to writer: inout ChoiceWriter) {
        writer.write(UInt8(min(7, values.count)))
        for value in values.prefix(7) { value.write(to: &writer) }
    }

    /// The value as a Foundation object.
    var object: NSObject {
        switch self {
        case .knownText(let index): NSString(string: Self.knownTexts[index])
        case .text(let text): NSString(string: text)
        case .mutableText(let text): NSMutableString(string: text)
        case .flag(let flag): NSNumber(value: flag)
        case .integer(let number): NSNumber(value: number)
        case .unsigned(let number): NSNumber(value: number)
        case .double(let number): NSNumber(value: number)
        case .decimal(let text): NSDecimalNumber(string: text)
        case .data(let octets): NSData(data: Data(octets))
        case .mutableData(let octets): NSMutableData(data: Data(octets))
        case .date(let seconds): NSDate(timeIntervalSince1970: seconds)
        case .null: NSNull()
        case .list(let values): NSArray(array: values.map(\.object))
        case .dictionary(let pairs), .attributes(let pairs): Self.object(of: pairs)
        case .accessControl(let index): SecAccessControl(Example.accessControls[index])
        case .url: NSURL(fileURLWithPath: "/")
        case .uuid: NSUUID()
        case .set(let values): NSSet(array: values.map(\.hashable))
        case .other: NSObject()
        case .key(let index): Example.keys[index]
        }
    }

    /// The object in a form that can be hashed and compared.
    ///
    /// Foundation on Linux itself fails for some values, before our code is reached: it never returns from hashing a
    /// decimal NaN, traps when it compares sets of containers, and gives two equal nulls different hashes.
    private var hashable: NSObject {
        switch self {
        case .decimal(let text): NSString(string: text)
        case .list, .dictionary, .attributes, .set, .null: NSNumber(value: 0)
        default: object
        }
    }

    /// A dictionary; a repeated key replaces the earlier value.
    static func object(of pairs: [(QueryValue, QueryValue)]) -> NSMutableDictionary {
        let dictionary = NSMutableDictionary()
        for (key, value) in pairs { dictionary.setObject(value.object, forKey: key.hashable) }
        return dictionary
    }
}
