import Foundation
import WebAuthnModel

@testable import Touchstone
@testable import TouchstoneLogin

/// What an app's records depend on.
enum FrontStrings {
    /// Everything.
    static func all() throws -> [StoredString] { (try keys()) + stores() + (try login()) }

    private static func keys() throws -> [StoredString] {
        let purposes =
            [KeyPurpose.Signing.self, KeyPurpose.Agreement.self, KeyPurpose.Sealing.self] as [Any.Type]
        let places = try purposes.map {
            try KeyPlace(purpose: KeyPlace.name(of: $0), name: "payments", group: nil)
        }
        let shared = try KeyPlace(purpose: KeyPlace.signing, name: "payments", group: "team:ö")
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let attestation = KeyAttestation(
            format: "touchstone-tpm2",
            statement: Data([1]),
            certificates: [Data([2])]
        )
        return [
            StoredString(
                "services of key records",
                [
                    "touchstone.key:Signing:0:", "touchstone.key:Agreement:0:", "touchstone.key:Sealing:0:",
                    "touchstone.key:Signing+successor:0:", "touchstone.key:Agreement+successor:0:",
                    "touchstone.key:Sealing+successor:0:", "touchstone.key:Signing:7:team:ö",
                ],
                all: (places + places.map(\.ofSuccessor) + [shared]).map(\.service)
            ),
            StoredString(
                "names in a key record",
                [
                    "need", "acceptsLaterEnrolments", "acceptsWeakBiometry", "demands", "reuse", "protection",
                    "point", "created", "expires", "starts", "uses", "representation", "attestation",
                    "codePoint",
                ],
                all: KeyRecord.CodingKeys.allCases.map(\.rawValue)
            ),
            StoredString(
                "a key's attestation",
                #"{"certificates":["Ag=="],"format":"touchstone-tpm2","statement":"AQ=="}"#,
                String(decoding: try encoder.encode(attestation), as: UTF8.self)
            ),
            StoredString(
                "the label of a key's attestation",
                "touchstone device key 1",
                bytes: Array(DeviceKeyBinding.label.utf8)
            ),
            StoredString(
                "the label of authentication codes",
                "touchstone authentication code",
                bytes: Array(AuthenticationCode.purpose)
            ),
        ]
    }

    private static func stores() -> [StoredString] {
        let levels: [HardwareLevel] = [.test, .software, .separateAccount, .weakTPM, .hardware]
        let rules = AccessRule.Need.allCases.map { AccessRule($0) }
        let weakened = AccessRule.biometry.acceptingLaterEnrolments().acceptingWeakBiometry()
            .requiring(.hardware).reusable(for: .milliseconds(1500))
        let kept = AccessRule.passcode.acceptingBackups().requiring(.test)
        return [
            StoredString(
                "services of stores",
                ["touchstone.store:0::tokens", "touchstone.store:4:team:tokens", ""],
                all: [
                    StorePlace(SecretStore("tokens", rule: .whenUnlocked)).service,
                    StorePlace(SecretStore("tokens", rule: .whenUnlocked, group: "team")).service,
                    StorePlace.marker,
                ]
            ),
            StoredString(
                "rules",
                [
                    "biometry", "biometryOrPasscode", "passcode", "biometryAndPasscode", "whenUnlocked",
                    "afterFirstUnlock",
                    "biometry.acceptingLaterEnrolments().acceptingWeakBiometry().requiring(hardware)"
                        + ".reusable(for: 1500 ms)",
                    "passcode.acceptingBackups().requiring(test)",
                ],
                all: (rules + [weakened, kept]).map(\.description)
            ),
            StoredString(
                "levels of hardware",
                ["test", "software", "separateAccount", "weakTPM", "hardware"],
                all: levels.map(\.storedName)
            ),
        ]
    }

    private static func login() throws -> [StoredString] {
        [
            StoredString(
                "stores and keys of a device",
                [
                    "login.device:https://example.org", "login.token:https://example.org",
                    "login.token:https://example.org#AAAA", "device", "account:AAAA", "forgotten", "refresh",
                ],
                all: [
                    DeviceStore.recordStore("https://example.org"),
                    DeviceStore.tokenStore("https://example.org", nil),
                    DeviceStore.tokenStore("https://example.org", "AAAA"),
                    DeviceStore.device, DeviceStore.key(of: "AAAA"), DeviceStore.forgotten,
                    DeviceStore.refresh,
                ]
            ),
            StoredString(
                "names in a device's record",
                [
                    "user", "label", "rule", "id", "credential", "proofKey", "user", "id", "account",
                    "proofKey",
                ],
                all: DeviceRecord.CodingKeys.allCases.map(\.rawValue)
                    + ForgottenDevice.CodingKeys.allCases.map(\.rawValue)
            ),
            StoredString(
                "the label of transactions",
                "touchstone transaction 1",
                bytes: LoginTransaction.label
            ),
        ]
    }
}
