/// The attributes that make an item unique, per class (`ConformanceTests/PrimaryKeyTests.swift`).
public enum PrimaryKey {
    /// The attributes of the key, in the order they are digested; missing ones count as empty or zero.
    public static func attributes(of itemClass: ItemClass) -> [AttributeKey] {
        switch itemClass {
        case .genericPassword: genericPassword
        case .internetPassword: internetPassword
        case .key: key
        case .certificate, .identity: []
        }
    }

    private static let genericPassword: [AttributeKey] = [
        .account, .service, .accessGroup, .synchronizable, .tokenID,
    ]

    private static let internetPassword: [AttributeKey] = [
        .account, .securityDomain, .server, .protocol, .authenticationType, .port, .path,
        .accessGroup, .synchronizable, .tokenID,
    ]

    private static let key: [AttributeKey] = [
        AttributeKey(rawValue: "kcls"), .applicationLabel, AttributeKey(rawValue: "atag"),
        .creator, .type, AttributeKey(rawValue: "bsiz"), AttributeKey(rawValue: "esiz"),
        AttributeKey(rawValue: "sdat"), AttributeKey(rawValue: "edat"),
        .accessGroup, .synchronizable, .tokenID,
    ]
}
