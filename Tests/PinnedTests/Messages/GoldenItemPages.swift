import CBOR
import KeychainModel
import SecretMemory

@testable import KeychainEngine

/// The replies with items: the store's own pages, which the client's own reader reads.
enum GoldenItemPages {
    private typealias Value = GoldenValues

    static func of(_ method: Method) throws -> [GoldenMessage] {
        let parts: [(String, ItemQuery.Returns)] = [
            ("no part", []), ("data", .data), ("attributes", .attributes), ("reference", .persistentRef),
            ("object", .ref), ("every part", .known),
        ]
        var messages: [GoldenMessage] = []
        for (name, returns) in parts {
            var page = ItemPage(expectsMany: false)
            append(returns, to: &page)
            messages.append(message(method, name, page.finish(next: nil)))
        }
        guard method == .copyItems else { return messages }
        var invalidated = ItemPage(expectsMany: false)
        append([.attributes, .persistentRef], to: &invalidated, invalidated: 1_700_000_000_000_000)
        messages.append(message(method, "invalidated", invalidated.finish(next: nil)))
        var several = ItemPage(expectsMany: true)
        for count in [0, 23, 24, 256] { append(.data, to: &several, data: Value.bytes(1, count)) }
        messages.append(message(method, "several, more follow", more: true, several.finish(next: nil)))
        return messages
    }

    private static func append(
        _ returns: ItemQuery.Returns,
        to page: inout ItemPage,
        data: [UInt8] = Array("pass word".utf8),
        invalidated: Int64? = nil
    ) {
        var writer = CBORWriter([UInt8]())
        writer.write(Value.attributes)
        let attributes = writer.finish()
        let hasData = returns.contains(.data)
        unsafe attributes.withUnsafeBytes { attributes in
            unsafe Value.bytes(0x10, 16).withUnsafeBytes { reference in
                unsafe page.begin(
                    returns,
                    row: 1,
                    reference: reference,
                    attributes: attributes,
                    hasData: hasData,
                    invalidated: invalidated
                )
            }
        }
        if hasData { unsafe data.withUnsafeBytes { unsafe page.append(data: $0) } }
    }

    private static func message(
        _ method: Method,
        _ name: String,
        more: Bool = false,
        _ items: consuming EncodedItems
    ) -> GoldenMessage {
        let head = ReplyHead(id: GoldenMessage.id, more: more)
        return GoldenMessage(
            name: "\(method): \(name)",
            method: method,
            octets: ItemsReply.message(head: head, items: items).copied,
            recoded: ReceivedItems.recoded
        )
    }
}
