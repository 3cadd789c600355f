import CBOR
import Crypto
import Foundation
import KeychainModel
import Testing
import TouchstoneTesting
import WebAuthnDevice
import WebAuthnModel

/// Independent verifiers, which `Scripts/foreign-verifiers` installs.
enum ForeignVerifiers {
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path
    static let python = root + "/.build-foreign/bin/python3"
    static var areThere: Bool {
        FileManager.default.fileExists(atPath: root + "/.build-foreign/requirements.txt")
    }
    static var toolsAreThere: Bool { FileManager.default.isExecutableFile(atPath: "/usr/bin/fido2-assert") }
}

extension Trait where Self == ConditionTrait {
    static var foreign: Self {
        .enabled(if: ForeignVerifiers.areThere, "PyPI cannot be reached: Scripts/foreign-verifiers")
    }
}

@Suite("Independent verifiers", .server, .foreign, .timeLimit(.minutes(20)))
struct ForeignTests {
    /// How a device attests its key.
    enum Kind: String, CaseIterable, Sendable {
        case none
        case packedInSoftware
        case packedInTPM
        case tpm

        var format: String {
            switch self {
            case .none: "none"
            case .packedInSoftware, .packedInTPM: "packed"
            case .tpm: "tpm"
            }
        }
    }

    /// A registration and a login of one device.
    private struct Objects {
        let made: RegistrationResponse
        let signed: AssertionResponse
        let root: String

        /// The input of verify.py.
        func json(_ kind: Kind, registration: JSONValue? = nil, login: JSONValue? = nil) -> JSONValue {
            [
                "rpId": .string(DeviceWorld.relyingParty), "origin": .string(DeviceWorld.origin),
                "registrationChallenge": JSONValue(base64URL: Array(0..<32)),
                "loginChallenge": JSONValue(base64URL: Array(32..<64)), "format": .string(kind.format),
                "root": .string(root), "manufacturer": "id:00001014",
                "registration": registration ?? made.json, "login": login ?? signed.json,
            ]
        }
    }

    private static func objects(_ kind: Kind) async throws -> Objects {
        let chip: SoftwareTPM.Chip? =
            switch kind {
            case .none, .packedInSoftware: nil
            case .packedInTPM: .blank
            case .tpm: .certified(1)
            }
        let world = try await DeviceWorld(chip)
        var (certificates, root) = ([[UInt8]](), "")
        if kind == .tpm {
            let authority = try await SoftwareTPM.authority()
            let server = try await SignInServer.start(
                ServerProgram.path,
                roots: [authority.root, authority.issuer],
                settings: ["password-cost": "10,8,1"]
            )
            let enrolment = try AttestationEnrolment(keychain: world.keychain.client)
            certificates = try SignedInApp(server, world.keychain.client).certificates(enrolment)
            root = try server.authority
        }
        let made = try world.device().register(
            try CreationOptions(
                parsing: DeviceWorld.creation(attestation: kind == .none ? "none" : "direct")
            ),
            verification: .passcode,
            certificates: certificates,
            reason: "a test"
        )
        let signed = try world.device().assert(
            try RequestOptions(parsing: DeviceWorld.request()),
            by: made.credential,
            reason: "a test"
        )
        return Objects(made: made, signed: signed, root: root)
    }

    private func output(_ arguments: [String], in directory: TemporaryDirectory) async throws -> String {
        let log = directory.appending("output.\(UUID().uuidString)")
        let process = try await ChildProcess.start(
            arguments[0],
            Array(arguments.dropFirst()),
            environment: ["PATH": "/usr/bin:/bin"],
            log: log
        )
        let status = try await process.waitUntilEnd()
        return "\(status >> 8) \(try String(contentsOfFile: log, encoding: .utf8))"
    }

    @Test(
        "py_webauthn and python-fido2 accept a device's objects, and refuse them with a flipped bit",
        arguments: Kind.allCases
    )
    func python(kind: Kind) async throws {
        let objects = try await Self.objects(kind)
        let directory = try TemporaryDirectory()
        func verdict(_ verifier: String, _ json: JSONValue) async throws -> String {
            let file = try directory.write(String(decoding: json.json, as: UTF8.self), to: "case.json")
            let script = ForeignVerifiers.root + "/Tests/WebAuthnDeviceTests/Foreign/verify.py"
            return try await output([ForeignVerifiers.python, script, verifier, file], in: directory)
        }
        for verifier in ["py_webauthn", "fido2"] {
            let whole = try await verdict(verifier, objects.json(kind))
            #expect(whole == "0 accepted\n", "\(verifier)")
            let login = objects.signed.json.changed("response", "signature")
            let broken = try await verdict(verifier, objects.json(kind, login: login))
            #expect(broken.hasPrefix("1 refused"), "\(verifier): \(broken)")
            guard kind != .none else { continue }
            let registration = objects.made.json.changed("response", "clientDataJSON")
            let refused = try await verdict(verifier, objects.json(kind, registration: registration))
            #expect(refused.hasPrefix("1 refused"), "\(verifier): \(refused)")
        }
    }

    @Test(
        "libfido2's tools accept packed statements and logins, and refuse them for another challenge",
        .enabled(if: ForeignVerifiers.toolsAreThere, "no fido2-tools"),
        arguments: [Kind.packedInSoftware, .packedInTPM]
    )
    func tools(kind: Kind) async throws {
        let objects = try await Self.objects(kind)
        let directory = try TemporaryDirectory()
        let registration = try ReadRegistration(objects.made)
        func hash(_ bytes: [UInt8]) -> String { Data(SHA256.hash(data: bytes)).base64EncodedString() }
        func wrapped(_ bytes: [UInt8]) -> String {
            Data(CBORValue.bytes(bytes).encoded()).base64EncodedString()
        }
        func credential(_ clientData: [UInt8]) async throws -> String {
            let lines = [
                hash(clientData), DeviceWorld.relyingParty, "packed", wrapped(registration.dataBytes),
                Data(objects.made.credential.id).base64EncodedString(),
                Data(try registration.bytes("sig")).base64EncodedString(),
            ]
            let input = try directory.write(lines.joined(separator: "\n") + "\n", to: "credential")
            let tool = [
                "/usr/bin/fido2-cred", "-V", "-v", "-i", input, "-o", directory.appending("key"), "es256",
            ]
            return try await output(tool, in: directory)
        }
        #expect(try await credential(objects.made.clientDataJSON) == "0 ")
        #expect(try await credential([1]).hasPrefix("1 "))
        #expect(
            try String(contentsOfFile: directory.appending("key"), encoding: .utf8)
                .contains(registration.key.pemRepresentation.split(separator: "\n")[1])
        )
        let key = try directory.write(registration.key.pemRepresentation + "\n", to: "key.pem")
        func assertion(_ clientData: [UInt8]) async throws -> String {
            let lines = [
                hash(clientData), DeviceWorld.relyingParty, wrapped(objects.signed.authenticatorData),
                Data(objects.signed.signature).base64EncodedString(),
            ]
            let input = try directory.write(lines.joined(separator: "\n") + "\n", to: "assertion")
            return try await output(
                ["/usr/bin/fido2-assert", "-V", "-p", "-v", "-i", input, key, "es256"],
                in: directory
            )
        }
        #expect(try await assertion(objects.signed.clientDataJSON) == "0 ")
        #expect(try await assertion([1]).hasPrefix("1 "))
    }
}

extension JSONValue {
    /// A copy with a bit near the end of a byte string member flipped.
    fileprivate func changed(_ outer: String, _ inner: String) -> JSONValue {
        guard let object, let part = object[outer]?.object, var bytes = part[inner]?.bytes, bytes.count > 8
        else {
            return .null
        }
        bytes[bytes.count - 4] ^= 1
        let members = part.members.map {
            $0.name == inner ? ($0.name, JSONValue(base64URL: bytes)) : ($0.name, $0.value)
        }
        let changed = JSONValue.object(JSONObject(members.map { (name: $0.0, value: $0.1) }))
        return .object(
            JSONObject(object.members.map { (name: $0.name, value: $0.name == outer ? changed : $0.value) })
        )
    }
}
