import CBOR
import Foundation
import KeychainModel
import SecretMemory

@testable import Security

/// The dictionaries of `SecItemAdd`, `SecItemCopyMatching`, `SecItemUpdate` and `SecItemDelete`.
///
/// The input is an octet that chooses the function, then pairs of a key and a value. What is accepted makes a request
/// that the daemon accepts.
enum QueryTarget: FuzzTarget {
    static let name = "query"

    /// A key that ends the first dictionary of an update.
    private static let separator: UInt8 = 0xFF
    private static let mostPairs = 64

    static func run(_ input: Span<UInt8>) {
        var choices = Choices(input)
        let flags = choices.octet()
        let query = dictionary(&choices)
        let hasResult = flags & 4 == 0
        do throws(KeychainError) {
            switch flags & 3 {
            case 0:
                let item = try ParsedQuery(query, for: .add, hasResult: hasResult)
                try check(AddItem.self, .addItem, try item.addRequest())
            case 1:
                let parsed = try ParsedQuery(query, for: .copyMatching, hasResult: hasResult)
                try check(CopyItems.self, .copyItems, try parsed.copyRequest())
            case 2:
                let changes = dictionary(&choices)
                let parsed = try ParsedQuery(query, for: .update, hasResult: false)
                let parsedChanges = try ParsedChanges(changes, of: parsed.itemClass)
                try check(UpdateItems.self, .updateItems, try parsed.updateRequest(parsedChanges))
            default:
                let parsed = try ParsedQuery(query, for: .delete, hasResult: false)
                try check(DeleteItems.self, .deleteItems, try parsed.deleteRequest())
            }
        } catch {
            let known: [Status] = [
                .param, .noSuchAttr, .noSuchClass, .unimplemented, .dataTooLarge, .itemNotFound,
            ]
            require(known.contains(error.status), "a refusal by Apple's rules, not \(error)")
        }
    }

    private static func dictionary(_ choices: inout Choices) -> NSMutableDictionary {
        var pairs: [(QueryValue, QueryValue)] = []
        while !choices.isAtEnd, pairs.count < mostPairs {
            let octet = choices.octet()
            if octet == separator { break }
            let key =
                octet < QueryValue.knownTexts.count
                ? QueryValue.knownText(Int(octet)) : QueryValue(&choices)
            pairs.append((key, QueryValue(&choices)))
        }
        return QueryValue.dictionary(pairs)
    }

    private static func check<Body: WireBody & ~Copyable>(
        _ type: Body.Type,
        _ method: KeychainModel.Method,
        _ body: borrowing Body
    ) throws(KeychainError) {
        let message = RequestHead(id: 2, method: method).message(body)
        require(message.count <= Frame.longest, "a request fits a frame")
        message.withOctets { octets in
            do {
                let again = try CBORReader.read(octets, limits: Frame.limits) { reader in
                    _ = try RequestHead(from: &reader)
                    return RequestHead(id: 2, method: method).message(try Body(from: &reader))
                }
                again.withOctets { require($0.array == octets.array, "a request has one encoding") }
            } catch {
                fatalError("the daemon would refuse the request: \(error)")
            }
        }
    }

    private typealias Pair = (String, QueryValue)

    static func seeds() -> [[UInt8]] {
        let good: [Pair] = [
            ("class", text("genp")), ("acct", text("alice")), ("svce", .text("mail")),
            ("v_Data", .data(octets(12))),
        ]
        let attributes: [Pair] = [
            ("sync", .flag(false)), ("sync", text("syna")), ("labl", .mutableText("L\u{E4}bel")),
            ("gena", .data(octets(4))),
            ("crtr", .integer(7)), ("crtr", .double(0.5)), ("crtr", .unsigned(.max)),
            ("crtr", .decimal("1e400")),
            ("type", .double(1e300)), ("invi", .integer(2)), ("invi", .flag(true)),
            ("cdat", .date(1_700_000_000)),
            ("cdat", .date(.infinity)), ("mdat", .date(1e300)), ("pdmn", text("akpu")),
            ("pdmn", text("genp")),
            ("accc", .accessControl(1)), ("accc", .data([0x83])), ("agrp", .text("group")),
            ("agrp", text("")),
            ("svce", .null), ("svce", .list([.null, .list([])])), ("svce", .dictionary([(.null, .null)])),
            ("acct", .url), ("acct", .other), ("srvr", .text("example.org")), ("v_Data", text("alice")),
            ("v_Data", .mutableData([])), ("r_Data", .flag(true)), ("r_Attributes", .flag(true)),
            ("r_PersistentRef", .integer(1)), ("r_Ref", .flag(true)), ("m_Limit", text("m_LimitAll")),
            ("m_Limit", text("m_LimitOne")), ("m_Limit", .integer(0)), ("m_Limit", .unsigned(.max)),
            ("m_Limit", .double(.nan)),
            ("m_ItemList", .list([.data(octets(16)), .data(octets(16, from: 9))])),
            ("m_ItemList", .list([])), ("m_ItemList", .set([.null])), ("v_PersistentRef", .data(octets(16))),
            ("v_PersistentRef", .data(octets(15))), ("u_AuthCtx", .other),
            ("u_OpPrompt", .text("because\u{0}")),
            ("u_AuthUI", text("u_AuthUIS")), ("u_AuthUI", text("u_AuthUIF")), ("u_NoAuthUI", .flag(true)),
            ("nleg", .flag(true)), ("unknown", .uuid), ("class", .integer(1)), ("class", text("keys")),
        ]
        var seeds: [[UInt8]] = []
        for (index, attribute) in attributes.enumerated() {
            let function = UInt8(index % 4)
            seeds.append(seed(function, good + [attribute]))
            seeds.append(
                seed((function + 1) % 4, [good[0], attribute], changes: [("labl", .text("new")), attribute])
            )
        }
        seeds.append(seed(0, good))
        seeds.append(seed(1, [("v_PersistentRef", .data(octets(16))), ("r_Data", .flag(true))]))
        seeds.append(seed(2, Array(good.prefix(2)), changes: [("v_Data", .data(octets(30)))]))
        seeds.append(seed(3, Array(good.prefix(2))))
        seeds.append(seed(3, []))
        return seeds
    }

    private static func text(_ known: String) -> QueryValue {
        .knownText(QueryValue.knownTexts.firstIndex(of: known) ?? 0)
    }

    private static func seed(_ function: UInt8, _ query: [Pair], changes: [Pair] = []) -> [UInt8] {
        var writer = ChoiceWriter()
        writer.write(function)
        for part in [query, changes] {
            for (key, value) in part {
                writer.write(UInt8(QueryValue.knownTexts.firstIndex(of: key) ?? 0))
                value.write(to: &writer)
            }
            if function == 2 { writer.write(separator) }
        }
        return writer.octets
    }
}
