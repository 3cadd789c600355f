import BrokerProtocol
import CTSS2
import KeychainModel
import SecretMemory

@testable import Desk
@testable import FingerprintDriver
@testable import TPMDriver
@testable import TouchstoneDaemon

/// What the chip, the bus, the desk and the daemon's settings depend on.
enum SystemStrings {
    /// Everything.
    static func all() throws -> [StoredString] { chip() + (try desk()) + bus() + daemon() }

    private static func chip() -> [StoredString] {
        let secret = SecretBytes(copying: GoldenValues.bytes(0, 32))
        let values = AuthorizationValue.Entity.allCases.map { entity in
            AuthorizationValue.derive(entity, from: secret)
                .withOctets { span in span.indices.map { span[$0] } }
                .map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        }
        return [
            StoredString(
                "labels of authorisation values",
                ["escrow", "pin", "private key", "seal"],
                all: AuthorizationValue.Entity.allCases.map(\.rawValue)
            ),
            StoredString(
                "authorisation values",
                [
                    "a5704d44eb177484ec1f8c8d7c783c412cbe8e033b75fcbc5ebff8f00148573b",
                    "93d7031424a7d86cad9f691da6de7cc00190016eb55550e397965a949c0c0071",
                    "5843d2e092d27e617be51761ddc41c086e5b462b267d526f161aecc36e702593",
                    "8b1992afcf6d9e4c211a1b628b3c628c3368b81ef91cde09b186a75662eee0dd",
                ],
                all: values
            ),
            StoredString(
                "a keychain's label in the chip",
                "93f32c191f098bda5effaff58424b7e3c144dfe299216c9fd470e0a05c1222a6",
                bytes: KeychainLabel(of: Array("STORE-OF-16-BYTE".utf8)).octets
            ),
            StoredString(
                "the attestation key's label",
                "touchstone attestation key 1    ",
                bytes: AttestationKey.label
            ),
            StoredString(
                "handles of indices",
                "1a70000 to 1a7ffff",
                String(NVIndex.handles.lowerBound, radix: 16) + " to "
                    + String(NVIndex.handles.upperBound, radix: 16)
            ),
        ]
    }

    private static func desk() throws -> [StoredString] {
        let group = try GoldenValues.group("/usr/bin/app")
        return [
            StoredString(
                "an app's domain state",
                "26e3f2b418c3b80f96df86aefd093e4d186646be2dfd9fc0af230da3d21d2908",
                bytes: DomainState.of(GoldenValues.bytes(0, 32), for: group)
            ),
            StoredString(
                "groups of programs without a path, of the command, and of the keys of all programs",
                ["unknown", "touchstone", "touchstone.keys"],
                all: [ClientIdentity.unknownGroup, ClientIdentity.ownGroup, NamedKey.group.name]
            ),
            StoredString(
                "attributes of the item of a key",
                [
                    "acct=name", "agrp=touchstone.keys", "gena=0102", "key.hosts=host SHA256:x",
                    "key.representation=0304", "labl=name", "nkey=81420304", "svce=touchstone.key",
                ],
                all: namedKey()
            ),
        ]
    }

    private static func namedKey() -> [String] {
        let key = EnclaveKey(
            representation: [3, 4],
            publicKey: [1, 2],
            accessControl: AccessControl(accessibility: .whenUnlocked),
            isHardware: false
        )
        let host = NamedKey.Host(name: "host", fingerprint: "SHA256:x")
        let attributes = NamedKey(name: "name", key: key, hosts: host.map { [$0] } ?? []).attributes
        return attributes.map { key, value in
            switch value {
            case .string(let text): "\(key.rawValue)=\(text)"
            case .data(let octets):
                "\(key.rawValue)=" + octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            default: key.rawValue
            }
        }.sorted()
    }

    private static func bus() -> [StoredString] {
        [
            StoredString(
                "names on the bus",
                [
                    "net.reactivated.Fprint", "/net/reactivated/Fprint/Manager",
                    "net.reactivated.Fprint.Manager",
                    "/net/reactivated/Fprint", "net.reactivated.Fprint.Device",
                    "net.reactivated.Fprint.Error.",
                    "org.freedesktop.login1", "/org/freedesktop/login1", "org.freedesktop.login1.Manager",
                    "org.freedesktop.login1.Session", "/org/freedesktop/login1/session/",
                    "org.freedesktop.DBus.Properties",
                ],
                all: [
                    Fprint.busName, Fprint.managerPath, Fprint.managerInterface, Fprint.rootPath,
                    Fprint.deviceInterface, Fprint.errorPrefix, Login1.busName, Login1.path,
                    Login1.managerInterface, Login1.sessionInterface, Login1.sessionPath, propertiesInterface,
                ]
            ),
            StoredString(
                "names on the session bus",
                [
                    "org.freedesktop.ScreenSaver", "org.gnome.ScreenSaver", "org.cinnamon.ScreenSaver",
                    "org.mate.ScreenSaver", "org.xfce.ScreenSaver",
                    "/org/freedesktop/ScreenSaver", "/ScreenSaver", "/org/gnome/ScreenSaver",
                    "/org/cinnamon/ScreenSaver", "/org/mate/ScreenSaver", "/org/xfce/ScreenSaver",
                ],
                all: ScreenSaver.allCases.map(\.rawValue) + ScreenSaver.allCases.flatMap(\.paths)
            ),
        ]
    }

    private static func daemon() -> [StoredString] {
        let variables = ["HOME": "/home/me", "XDG_RUNTIME_DIR": "/run/user/1000"]
        let own = Layout(variable: { variables[$0] }, userDirectory: { nil })
        let tests = Layout(variable: { $0 == "TOUCHSTONE_HOME" ? "/tmp/t" : nil }, userDirectory: { nil })
        let places = [own, tests, Layout.ofSystem(uid: 1000)].compactMap(\.self)
        return [
            StoredString(
                "settings",
                [
                    "idle-exit", "pinentry-program", "log-level", "biometry", "tpm", "backup-require",
                    "lock-on", "names-while-locked", "trust", "keep-reads",
                ],
                all: Configuration.Key.allCases.map(\.rawValue)
            ),
            StoredString("settings of sensors", ["sensor "], all: [SensorTable.settingPrefix]),
            StoredString(
                "places of the files",
                [
                    "/run/user/1000/touchstone/socket", "/run/user/1000/touchstone/ssh-agent",
                    "/run/user/1000/touchstone/lock",
                    "/home/me/.local/share/touchstone", "/home/me/.config/touchstone/touchstoned.conf",
                    "/tmp/t/run/socket", "/tmp/t/run/ssh-agent", "/tmp/t/run/lock", "/tmp/t/data",
                    "/tmp/t/touchstoned.conf",
                    "/run/touchstone/1000/socket", "/run/touchstone/1000/ssh-agent",
                    "/var/lib/touchstone/1000/lock",
                    "/var/lib/touchstone/1000",
                    "/etc/touchstone/touchstoned.conf",
                ],
                all: places.flatMap {
                    [$0.socket, $0.agentSocket, $0.lockFile, $0.dataDirectory, $0.configurationFile]
                }
            ),
            StoredString(
                "further files, and the group of agents",
                ["access-groups.conf", "/run/touchstone-broker/socket", "touchstone-agent", "/dev/tpmrm0"],
                all: [AccessGroupFiles.name, BrokerRequest.socket, Agents.groupName, Hardware.device]
            ),
            StoredString(
                "levels in statuses",
                ["test", "softwareUser", "softwareSystem", "tpmWeak", "tpm"],
                all: Assurance.allCases.map(\.name)
            ),
            StoredString(
                "levels in attestations",
                ["ekCertificate", "firstUse", "software"],
                all: AttestationLevel.allCases.map(\.rawValue)
            ),
        ]
    }
}
