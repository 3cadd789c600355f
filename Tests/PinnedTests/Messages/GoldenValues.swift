import KeychainModel
import SecretMemory

/// The fixed values in the golden messages: every field has a value of its own, so that two fields that change places
/// change the bytes.
enum GoldenValues {
    static let prompt = PromptFields(
        origin: PromptOrigin(
            terminal: "/dev/pts/4",
            terminalType: "xterm",
            display: ":1",
            waylandDisplay: "wayland-0",
            xAuthority: "/home/me/.Xauthority",
            characterType: "en_GB.UTF-8",
            language: "ja_JP.UTF-8"
        ),
        reason: "open the vault — ünïcode",
        details: PromptDetails(title: "Bank", subtitle: "Giro 12", items: ["to: Alice", "12 EUR"]),
        cancelTitle: "No",
        fallbackTitles: ["Passcode", "Card"],
        interactionAllowed: false,
        tellsMisses: true
    )
    static let noPrompt = PromptFields()

    /// Every kind of value, and several kinds of number.
    static let attributes: ItemAttributes = [
        .account: .string("me"), .service: .string("mail"), .generic: .data([0, 255]),
        .port: .integer(993), .type: .integer(-3), .creator: .integer(.max),
        .isInvisible: .boolean(true), .isNegative: .boolean(false),
        .creationDate: .date(1_700_000_000_000_001), .modificationDate: .date(-1),
    ]

    static func bytes(_ first: UInt8, _ count: Int) -> [UInt8] {
        (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0) }
    }

    static func reference(_ first: UInt8) throws -> PersistentReference {
        try some(PersistentReference(octets: bytes(first, 16)))
    }

    static func query() throws -> ItemQuery {
        ItemQuery(
            itemClass: .genericPassword,
            attributes: attributes,
            limit: .count(7),
            returns: .known,
            references: [try reference(0x10), try reference(0x20)],
            authenticationUI: .skip
        )
    }
    static let noQuery = ItemQuery(itemClass: nil)

    static func control() throws -> AccessControl {
        try AccessControl(
            accessibility: .afterFirstUnlockThisDeviceOnly,
            flags: [.biometryCurrentSet, .or, .devicePasscode, .privateKeyUsage, .applicationPassword]
        )
    }
    static let noControl = AccessControl(accessibility: .whenUnlocked)

    static func group(_ name: String) throws -> AccessGroup { try some(AccessGroup(name)) }

    static func secret(_ text: String) -> SecretBytes { SecretBytes(copying: Array(text.utf8)) }

    static let publicKey = [4] + bytes(0x40, 64)

    /// Unwraps a value that the fixed arguments cannot fail to make.
    static func some<Value>(_ value: Value?) throws -> Value {
        guard let value else { throw Missing() }
        return value
    }

    /// A fixed value that the product refuses to make.
    struct Missing: Error {}
}
