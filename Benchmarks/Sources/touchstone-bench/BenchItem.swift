import KeychainClient
import KeychainModel
import SecretMemory

/// The items that are measured: generic passwords of one service, by number.
enum BenchItem {
    /// 32 bytes.
    static let secret = Array("correct horse battery staple, ok".utf8)
    static let service = "org.example.benchmark"

    static func account(_ number: Int) -> String { "account-\(number)@example.org" }

    private static func name(_ number: Int) -> ItemAttributes {
        [.service: .string(service), .account: .string(account(number))]
    }

    static func add(
        _ number: Int,
        flags: AccessControlFlags = [],
        prompt: PromptFields
    ) throws -> AddItem {
        AddItem(
            itemClass: .genericPassword,
            attributes: name(number),
            accessControl: try AccessControl(accessibility: .whenUnlocked, flags: flags),
            data: SecretBytes(copying: secret),
            prompt: prompt
        )
    }

    static func copy(_ number: Int, prompt: PromptFields) -> CopyItems {
        CopyItems(
            query: ItemQuery(itemClass: .genericPassword, attributes: name(number), returns: .data),
            prompt: prompt
        )
    }

    static func update(_ number: Int, prompt: PromptFields) -> UpdateItems {
        UpdateItems(
            query: ItemQuery(itemClass: .genericPassword, attributes: name(number)),
            attributes: [:],
            accessControl: nil,
            data: SecretBytes(copying: secret),
            prompt: prompt
        )
    }

    static func delete(_ number: Int, prompt: PromptFields) -> DeleteItems {
        DeleteItems(query: ItemQuery(itemClass: .genericPassword, attributes: name(number)), prompt: prompt)
    }

    static func list(_ returns: ItemQuery.Returns, prompt: PromptFields) -> CopyItems {
        CopyItems(
            query: ItemQuery(
                itemClass: .genericPassword,
                attributes: [.service: .string(service)],
                limit: .all,
                returns: returns
            ),
            prompt: prompt
        )
    }
}
