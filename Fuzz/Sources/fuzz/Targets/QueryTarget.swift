import CBOR
import Foundation
import KeychainModel
import SecretMemory

@testable import Security

/// The dictionaries of `SecItemAdd`, `SecItemCopyMatching`, `SecItemUpdate` and `SecItemDelete`.
///
/// The input is a byte that selects the function, then pairs of a key and a value. An accepted dictionary must make a
/// request that the daemon accepts.
enum QueryTarget: FuzzTarget {
    static let name = "query"

    static func run(_ input: Span<UInt8>) { NoDaemon.run { runAlone(input) } }

    private static func runAlone(_ input: Span<UInt8>) {
        var choices = Choices(input)
        let flags = choices.octet()
        let query = QueryValue.object(of: QueryValue.pairs(&choices))
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
                let changes = QueryValue.object(of: QueryValue.pairs(&choices))
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
                // A match that the client itself performs needs the daemon.
                .notAvailable,
            ]
            require(known.contains(error.status), "a refusal by Apple's rules, not \(error)")
        }
    }

    private static func check<Body: WireBody & ~Copyable>(
        _ type: Body.Type,
        _ method: KeychainModel.Method,
        _ body: borrowing Body
    ) throws(KeychainError) {
        guard let message = try? RequestHead(id: 2, method: method).message(body) else {
            fatalError("no locked memory")
        }
        require(message.count <= Frame.longest, "a request fits a frame")
        message.withOctets { octets in
            do {
                let again = try CBORReader.read(octets, limits: Frame.limits) { reader in
                    _ = try RequestHead(from: &reader)
                    return try RequestHead(id: 2, method: method).message(try Body(from: &reader))
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
            ("m_CaseInsensitive", .flag(true)), ("m_HostOrSubdomainOfHost", .text("example.org")),
            ("v_Ref", .other), ("v_Ref", .key(0)),
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
        for key in Example.keys.indices {
            let pairs: [Pair] = [("class", text("keys")), ("v_Ref", .key(key)), ("atag", .data(octets(4)))]
            for function: UInt8 in 0...3 {
                seeds.append(seed(function, pairs, changes: [("labl", .text("new"))]))
            }
            seeds.append(seed(0, pairs + [("kcls", text("0")), ("r_Ref", .flag(true))]))
            seeds.append(seed(0, pairs + [("v_Data", .data(octets(9)))]))
        }
        let stored: [Pair] = [
            ("class", text("keys")), ("type", text("73")), ("kcls", text("0")), ("bsiz", .integer(256)),
            ("v_Data", .data(Example.publicKey)),
        ]
        for function: UInt8 in [0, 1] { seeds.append(seed(function, stored + [("perm", .flag(true))])) }
        return seeds
    }

    private static func text(_ known: String) -> QueryValue { .known(known) }

    private static func seed(_ function: UInt8, _ query: [Pair], changes: [Pair] = []) -> [UInt8] {
        var writer = ChoiceWriter()
        writer.write(function)
        for part in [query, changes] {
            QueryValue.write(part, to: &writer)
            if function == 2 { writer.write(QueryValue.end) }
        }
        return writer.octets
    }
}
