/// Which attributes make an item unique, per class (`keychain.md`, rule 1).
public enum PrimaryKey {
    /// The attributes of the key, in the order they are digested; missing ones count as empty or zero.
    public static func attributes(of itemClass: ItemClass) -> [AttributeKey] {
        switch itemClass {
        case .genericPassword:
            [.account, .service, .accessGroup, .synchronizable, .tokenID]
        case .internetPassword:
            [
                .account, .securityDomain, .server, .protocol, .authenticationType, .port, .path,
                .accessGroup, .synchronizable, .tokenID,
            ]
        case .key:
            [
                AttributeKey(rawValue: "kcls"), AttributeKey(rawValue: "klbl"),
                AttributeKey(rawValue: "atag"),
                .creator, .type, AttributeKey(rawValue: "bsiz"), AttributeKey(rawValue: "esiz"),
                AttributeKey(rawValue: "sdat"), AttributeKey(rawValue: "edat"),
                .accessGroup, .synchronizable, .tokenID,
            ]
        case .certificate, .identity:
            []
        }
    }
}
