import CItemFiles
import KeychainModel
import Primitives
import SecretMemory

@testable import KeychainEngine

/// What the keychain's files depend on.
enum EngineStrings {
    private static let store = Array("STORE-OF-16-BYTE".utf8)
    private static let reference = Array("REFERENCE-16-BYT".utf8)

    private static func key(_ first: UInt8) -> Key {
        Key(SecretBytes(copying: GoldenValues.bytes(first, Key.byteCount)))
    }

    private static let record = KeybagRecord(
        storeID: store,
        cost: .test,
        salt: [],
        assurance: .test,
        blob: [],
        passcodeWrap: [],
        recoveryWrap: [],
        keys: [:],
        epoch: 7,
        enrolment: nil,
        hasFingers: false,
        passcodePublicKey: [],
        passcodePrivateWrap: [],
        passcodePrivateRecoveryWrap: [],
        hardware: nil
    )

    /// Everything.
    static func all() throws -> [StoredString] {
        derivations() + (try associatedData()) + (try digests()) + names() + schema() + formats()
    }

    private static func text(_ octets: [UInt8]) -> String { String(decoding: octets, as: UTF8.self) }

    private static func derivations() -> [StoredString] {
        let info = KeyLabel.allCases.map { text(KeyDerivation.info($0)) }
        let derived = KeyDerivation.derive(.keybagSeal, from: [key(0)], salt: store)
        let item = KeyDerivation.derive(.itemKey, way: 13, from: [key(0), key(32)], salt: [])
        return [
            StoredString(
                "HKDF's labels",
                [
                    "touchstone 1 keybag", "touchstone 1 attempts", "touchstone 1 device secret",
                    "touchstone 1 device secret wrapping", "touchstone 1 keybag passcode",
                    "touchstone 1 seal authorization", "touchstone 1 passcode private key",
                    "touchstone 1 keybag seal", "touchstone 1 keybag recovery",
                    "touchstone 1 passcode private key recovery", "touchstone 1 enrolment epoch",
                    "touchstone 1 enrolment digest", "touchstone 1 epoch ends", "touchstone 1 domain state",
                    "touchstone 1 item key", "touchstone 1 passcode constraint", "touchstone 1 secret mark",
                    "touchstone 1 software private key", "touchstone 1 export", "touchstone 1 backup",
                ],
                all: info
            ),
            StoredString(
                "HKDF's label of a way",
                "touchstone 1 item key 13",
                bytes: KeyDerivation.info(.itemKey, way: 13)
            ),
            StoredString(
                "a derived key",
                "866c946b6ad6ff55b28b11561ccb809b3e0ccfaabf0b533b8d60335bf8649e20",
                bytes: octets(derived)
            ),
            StoredString(
                "the key of a way",
                "3fac366e9ab2e5759c9f642bc708c07dc1d5f87c256f9384259fb39e5cf49d04",
                bytes: octets(item)
            ),
        ]
    }

    private static func octets(_ key: Key) -> [UInt8] { unsafe key.withUnsafeBytes { unsafe Array($0) } }

    private static func context() throws -> ItemContext {
        let keys = try KeyRing(seal: key(0)) { (name) throws(KeychainError) in key(name.rawValue) }
        return ItemContext(of: record, keys)
    }

    private static func associatedData() throws -> [StoredString] {
        let context = try context()
        let header = Array(" HEADER".utf8)
        return [
            StoredString(
                "attributes",
                "touchstone 1 attributes STORE-OF-16-BYTEREFERENCE-16-BYT",
                bytes: context.binding(of: .attributes, reference)
            ),
            StoredString(
                "an item's key",
                "touchstone 1 item key STORE-OF-16-BYTEREFERENCE-16-BYT HEADER",
                bytes: context.binding(of: .key, reference, header)
            ),
            StoredString(
                "an item's data",
                "touchstone 1 item data STORE-OF-16-BYTEREFERENCE-16-BYT HEADER",
                bytes: context.binding(of: .data, reference, header)
            ),
            StoredString(
                "an application password's salt",
                "touchstone 1 keybag application password 0 STORE-OF-16-BYTE",
                bytes: context.passwordSalt
            ),
            StoredString(
                "the record of the set",
                "touchstone 4 item set STORE-OF-16-BYTE",
                bytes: ItemSetDigest.context(store, ItemSchema.version)
            ),
            StoredString(
                "the keys of a keybag",
                [1, 2, 3, 4, 5, 16, 17, 18, 32].map { "touchstone 1 keybag key \($0) 0 STORE-OF-16-BYTE" }
                    + ["touchstone 1 keybag key 33 7 STORE-OF-16-BYTE"],
                all: KeybagKeyName.allCases.map { text(record.context(of: $0)) }
            ),
            StoredString(
                "the single wraps of a keybag",
                [
                    "touchstone 1 keybag keybag key by passcode 0 STORE-OF-16-BYTE",
                    "touchstone 1 keybag keybag key by recovery 0 STORE-OF-16-BYTE",
                    "touchstone 1 keybag passcode private key by passcode 0 STORE-OF-16-BYTE",
                    "touchstone 1 keybag passcode private key by recovery 0 STORE-OF-16-BYTE",
                    "touchstone 1 keybag epoch ends 0 STORE-OF-16-BYTE",
                ],
                all: [
                    KeybagKeys.byPasscode, KeybagKeys.byRecovery, KeybagKeys.privateByPasscode,
                    KeybagKeys.privateByRecovery, EpochEnds.name,
                ].map { text(record.context($0)) }
            ),
            StoredString("a device secret", "touchstone 1 device secret", bytes: FileKeySealer.context),
            StoredString(
                "a software private key",
                "touchstone 1 software private key PUBLIC",
                bytes: SoftwarePrivateKeys.context(Array("PUBLIC".utf8))
            ),
            StoredString(
                "the parts of a private key's record",
                [
                    "touchstone 1 private key authorization STORE-OF-16-BYTE",
                    "touchstone 1 private key STORE-OF-16-BYTE",
                ],
                all: PrivateKeyRecord.Part.allCases.map { text(PrivateKeyRecord.label($0, storeID: store)) }
            ),
            StoredString("an export's head", "TchSExp", bytes: ExportSeal.magic),
            StoredString(
                "an export's record",
                "touchstone 1 export ",
                bytes: Array(ExportSeal.label(store).dropLast(SHA256.byteCount))
            ),
            StoredString(
                "a backup's record",
                "touchstone 1 backup ",
                bytes: Array(ExportSeal.backupLabel(store).dropLast(SHA256.byteCount))
            ),
        ]
    }

    /// Digests of an item of each class, which depend on labels, names of attributes, their order and the key.
    private static func digests() throws -> [StoredString] {
        let digester = try context().lookup
        let attributes: ItemAttributes = [
            .account: .string("me"), .service: .string("mail"), .server: .string("example.org"),
            .port: .integer(993), .synchronizable: .boolean(true), .label: .string("label"),
            AttributeKey(rawValue: "klbl"): .data([1]), AttributeKey(rawValue: "atag"): .data([2]),
        ]
        let expected: [ItemClass: String] = [
            .genericPassword: "343c213296fb359c4f0ecec3c52ceba0c8164e02ae9d8018"
                + "a1f80f6bebe17be5a636ee95c8ac2a772bcba3fa1b6f518f",
            .internetPassword: "05c200367469614142ffef126acad5186fd7193057490c08"
                + "a83922c9cd999303998004d6dfc2cbc4527a0f99a8b4959f",
            .key: "a4d46344144bcd1f0eaf99df4131f9096880760f2830a5d1"
                + "5dbbef823879089f24ec12ba90c5f29b8b6f669a397ea088",
            .certificate: "26c0edd237bee929d262711679803a94de2563604899c0a1"
                + "51eda21b9ade0695aa1b8f98500d18e21b68dde6c95f6b82",
            .identity: "c721cc221f9dd46b7a1bac3480d1034eadda372552dd5d3e"
                + "8bf3fa6ac11058659ce3e59cc75726596801663400373522",
        ]
        var strings = ItemClass.allCases.map { itemClass in
            let digests = digester.digests(of: attributes, itemClass: itemClass, group: "/usr/bin/app")
            return StoredString(
                "digests, class \(itemClass.rawValue)",
                expected[itemClass] ?? "",
                bytes: digests.octets
            )
        }
        let header = ItemHeader(
            generation: 1,
            epoch: 2,
            itemClass: .key,
            accessControl: try GoldenValues.control(),
            group: "g",
            digests: LookupDigests(octets: [])
        )
        strings.append(
            StoredString(
                "an item's header",
                "0103060000000000000001000000000000000200000000c0004018000167",
                bytes: header.encoded()
            )
        )
        return strings
    }

    private static func names() -> [StoredString] {
        [
            StoredString(
                "files of a keychain",
                [
                    "keybag", "keybag.copy", "device.key", "tpm.notes", "attempts", "items.sqlite",
                    "items.sqlite-wal", "items.sqlite-mark", "items.sqlite-shm", "items.sqlite-journal",
                    "import",
                    "items.sqlite.new", "items.sqlite.saved", "repair", "ssh-keys", "setup", "daemon.log",
                    "moved",
                    "former-", "former.new", "items.sqlite.damaged-", "export.new", "TchSlog1",
                ],
                all: StoreFile.allCases.map(\.rawValue) + [
                    StoreFile.log, MovedKeychain.name, FormerFiles.prefix, FormerFiles.unfinished,
                    NewItems.asidePrefix, UnnamedFile.name, CITEMFILES_MARK,
                ]
            ),
            StoredString(
                "attributes of items",
                [
                    "acct", "svce", "agrp", "sync", "tkid", "labl", "desc", "icmt", "gena", "crtr", "type",
                    "invi",
                    "nega", "cdat", "mdat", "pdmn", "accc", "smrk", "nkey", "hkey", "sdmn", "srvr",
                    "ptcl", "atyp", "port", "path", "class",
                ],
                all: [
                    .account, .service, .accessGroup, .synchronizable, .tokenID, .label, .itemDescription,
                    .comment, .generic, .creator, .type, .isInvisible, .isNegative, .creationDate,
                    .modificationDate, .accessible, .accessControl, .secretMark, .namedKeys, .heldKeys,
                    .securityDomain, .server, .protocol, .authenticationType, .port, .path, .itemClass,
                ].map(\AttributeKey.rawValue)
            ),
            StoredString(
                "classes of items",
                ["genp", "inet", "keys", "cert", "idnt"],
                all: ItemClass.allCases.map(\.rawValue)
            ),
            StoredString(
                "primary keys",
                [
                    "acct svce agrp sync tkid", "acct sdmn srvr ptcl atyp port path agrp sync tkid",
                    "kcls klbl atag crtr type bsiz esiz sdat edat agrp sync tkid", "", "",
                ],
                all: ItemClass.allCases.map {
                    PrimaryKey.attributes(of: $0).map(\.rawValue).joined(separator: " ")
                }
            ),
            StoredString(
                "accessibilities",
                ["ak 1", "ck 2", "dk 3", "akpu 4", "aku 5", "cku 6", "dku 7"],
                all: Accessibility.allCases.map { "\($0.rawValue) \(ItemHeader.code(of: $0))" }
            ),
        ]
    }

    private static func schema() -> [StoredString] {
        [
            StoredString(
                "SQLite schema",
                [
                    "CREATE TABLE item_set (id INTEGER PRIMARY KEY, sealed BLOB NOT NULL) STRICT",
                    "CREATE TABLE items (id INTEGER PRIMARY KEY, reference BLOB NOT NULL, scope BLOB NOT NULL, "
                        + "first BLOB NOT NULL, name BLOB NOT NULL, second BLOB, label BLOB, attributes BLOB NOT NULL, "
                        + "keys BLOB, data BLOB) STRICT",
                    "CREATE INDEX items_first ON items (first, name)",
                    "CREATE INDEX items_label ON items (label) WHERE label IS NOT NULL",
                    "CREATE INDEX items_scope ON items (scope)",
                    "CREATE INDEX items_second ON items (second) WHERE second IS NOT NULL",
                ],
                all: ItemSchema.statements.sorted { $0.key < $1.key }.map(\.value)
            ),
            StoredString(
                "SQLite numbers",
                ["1415800915", "1", "2", "3", "-327676", "1024"],
                all: ["\(ItemSchema.applicationID)"] + (1...4).map { "\(ItemSchema.userVersion(of: $0))" }
                    + ["\(ItemSchema.pageByteCount)"]
            ),
        ]
    }

    private static func formats() -> [StoredString] {
        [
            StoredString(
                "formats: items, keybag, header, private key",
                "4 4 1 1",
                "\(ItemSchema.version) \(KeybagRecord.version) \(ItemHeader.format) \(PrivateKeyRecord.format)"
            ),
            StoredString(
                "private key with limits: format, label, count of its uses",
                "2 klbl kuse ends",
                "\(PrivateKeyRecord.limitedFormat) \(AttributeKey.applicationLabel.rawValue) "
                    + "\(AttributeKey.keyUses.rawValue) \(AttributeKey.ends.rawValue)"
            ),
            StoredString(
                "factors of a way",
                "1 2 4 8",
                [
                    ItemKeyWrap.Demand.biometryAny, .biometryCurrentSet, .passcode, .applicationPassword,
                ].map { "\($0.rawValue)" }.joined(separator: " ")
            ),
            StoredString(
                "kinds of former hardware objects",
                "1 2 3 4",
                KeybagRecord.FormerObject.Kind.allCases.map { "\($0.rawValue)" }.joined(separator: " ")
            ),
        ]
    }
}
