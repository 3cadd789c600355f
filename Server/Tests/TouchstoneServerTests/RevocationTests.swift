import Crypto
import Foundation
import HTTPTypes
import NIOHTTP1
import SwiftASN1
import Testing
import WebAuthnModel
import X509

@testable import TouchstoneServer

extension ServerTests {
    /// The cells: no list; a chip that is listed, one that is not, one whose maker's authority is; a list in PEM, in DER, several in
    /// one file, a directory; out of date, signed by another key or without the right to; of another issuer; malformed, a delta,
    /// an indirect one; changed while the server runs.
    ///
    /// The lists are OpenSSL's.
    @Suite("Endorsement certificates that their maker revoked")
    struct RevocationTests {
        /// The code and the detail of a refusal, or `certified`.
        private func outcome(
            _ maker: ChipMaker,
            number: Int = 0x1234_5678,
            in directory: String,
            _ lists: [String: String]
        ) async throws -> String {
            try? FileManager.default.removeItem(atPath: "\(directory)/lists")
            try TestServer.write(lists, to: "\(directory)/lists")
            let policy = try EndorsementPolicy(try configuration(maker, directory))
            let certificates = try maker.endorsement(SoftChip(), number: number)
            do throws(EndorsementPolicy.Refusal) {
                _ = try await policy.chip(certificates: certificates, publicArea: nil)
                return "certified"
            } catch {
                return "\(error.code.rawValue): \(error.detail)"
            }
        }

        private func configuration(_ maker: ChipMaker, _ directory: String) throws -> ServerConfiguration {
            var configuration = try TestServer.configuration(directory)
            try TestServer.write(
                ["root.pem": try maker.root.serializeAsPEM().pemString],
                to: "\(directory)/roots"
            )
            configuration.endorsement = .roots
            configuration.endorsementRoots = "\(directory)/roots"
            configuration.endorsementRevoked = "\(directory)/lists"
            return configuration
        }

        private static let revoked = "attestation_revoked: the endorsement certificate is revoked"
        private static let number = 0x1234_5678

        @Test("a listed chip is refused, another one is certified, and a list of another issuer says nothing")
        func listed() async throws {
            let maker = try ChipMaker()
            try await TestServer.inDirectory { directory in
                #expect(try await outcome(maker, in: directory, [:]) == "certified", "no list")
                let list = try await maker.revocations(of: [7, Self.number, 0x80])
                #expect(try await outcome(maker, in: directory, ["a.pem": list]) == Self.revoked)
                #expect(try await outcome(maker, number: 8, in: directory, ["a.pem": list]) == "certified")
                #expect(
                    try await outcome(maker, number: 0x80, in: directory, ["a.crl": list]) == Self.revoked,
                    "a number whose first bit is set"
                )
                let empty = try await maker.revocations(of: [])
                #expect(try await outcome(maker, in: directory, ["a.pem": empty]) == "certified")
                let both = try await maker.revocations(of: [Self.number], byRoot: true)
                #expect(
                    try await outcome(maker, in: directory, ["a.pem": empty, "b.pem": both]) == "certified",
                    "the root's list has the number of another certificate"
                )
                #expect(
                    try await outcome(maker, in: directory, ["a.pem": empty + both + list]) == Self.revoked
                )
                #expect(
                    try await outcome(maker, in: directory, ["a.txt": list]) == "certified",
                    "another name"
                )
            }
        }

        @Test("an issuing authority that its root revoked is refused, with all of its chips")
        func authority() async throws {
            let maker = try ChipMaker()
            try await TestServer.inDirectory { directory in
                let list = try await maker.revocations(of: [0x77], byRoot: true)
                #expect(
                    try await outcome(maker, in: directory, ["a.pem": list])
                        == "attestation_revoked: a certificate of the chip's maker is revoked"
                )
            }
        }

        @Test(
            "a list that is out of date or not its issuer's certifies nobody, and still revokes if it is the issuer's"
        )
        func stale() async throws {
            let maker = try ChipMaker()
            try await TestServer.inDirectory { directory in
                let old = try await maker.revocations(of: [Self.number], days: -1)
                let stale =
                    "attestation_untrusted: the revocation list of the certificate's issuer is out of date"
                #expect(try await outcome(maker, in: directory, ["a.pem": old]) == Self.revoked)
                #expect(try await outcome(maker, number: 8, in: directory, ["a.pem": old]) == stale)
                let new = try await maker.revocations(of: [Self.number])
                #expect(
                    try await outcome(maker, number: 8, in: directory, ["a.pem": old + new]) == "certified"
                )
                let early = try await maker.revocations(of: [], days: 40)
                #expect(try await outcome(maker, in: directory, ["a.pem": early]) == stale, "of a later time")

                let foreign = try await maker.revocations(of: [Self.number], key: P256.Signing.PrivateKey())
                let unsigned =
                    "attestation_untrusted: the revocation list of the certificate's issuer is signed by another key"
                #expect(try await outcome(maker, in: directory, ["a.pem": foreign]) == unsigned)
                #expect(try await outcome(maker, number: 8, in: directory, ["a.pem": foreign]) == unsigned)
                let weak = try ChipMaker(mayRevoke: false)
                let list = try await weak.revocations(of: [Self.number])
                #expect(try await outcome(weak, in: directory, ["a.pem": list]) == unsigned)
            }
        }

        @Test(
            "DER and a single file are read; what is no list, a delta or an indirect list is a mistake in the settings"
        )
        func files() async throws {
            let maker = try ChipMaker()
            try await TestServer.inDirectory { directory in
                let list = try await maker.revocations(of: [Self.number])
                let der = try PEMDocument(pemString: list).derBytes
                var settings = try configuration(maker, directory)
                let file = "\(directory)/one"
                settings.endorsementRevoked = file
                let certificates = try maker.endorsement(SoftChip(), number: Self.number)
                func write(_ bytes: [UInt8]) throws { try Data(bytes).write(to: URL(filePath: file)) }
                for bytes in [der, Array(list.utf8)] {
                    try write(bytes)
                    let policy = try EndorsementPolicy(settings)
                    let refusal = await #expect(throws: EndorsementPolicy.Refusal.self) {
                        try await policy.chip(certificates: certificates, publicArea: nil)
                    }
                    #expect(refusal?.code == .attestationRevoked)
                }
                func fault(_ bytes: [UInt8]) throws -> String? {
                    try write(bytes)
                    return #expect(throws: ConfigurationFault.self) { try EndorsementPolicy(settings) }?
                        .reason
                }
                let none = "holds no revocation list, in DER or PEM"
                #expect(try fault([]) == none)
                #expect(try fault(Array("nonsense".utf8)) == none)
                #expect(try fault(Array(maker.root.serializeAsPEM().pemString.utf8)) == none)
                #expect(try fault(try maker.endorsement(SoftChip(), number: 1)[0]) != nil, "a certificate")
                for count in stride(from: 1, to: der.count, by: 7) {
                    #expect(try fault(Array(der.prefix(count)))?.contains("revocation list") == true)
                }
                let delta = try await maker.revocations(of: [], extensions: "2.5.29.27=critical,DER:020101")
                #expect(try fault(Array(delta.utf8))?.contains("2.5.29.27") == true)
                let indirect = try await maker.revocations(
                    of: [],
                    extensions: "2.5.29.28=critical,DER:30038401FF"
                )
                #expect(try fault(Array(indirect.utf8))?.contains("2.5.29.28") == true)
                let onlyUsers = try await maker.revocations(
                    of: [Self.number],
                    extensions: "2.5.29.28=critical,DER:30038101FF"
                )
                try write(Array(onlyUsers.utf8))
                #expect(throws: Never.self) { try EndorsementPolicy(settings) }
                settings.endorsementRevoked = "/nowhere"
                #expect(throws: ConfigurationFault.self) { try EndorsementPolicy(settings) }
                settings.endorsement = .any
                let mode = #expect(throws: ConfigurationFault.self) { try settings.checkTogether() }
                #expect(mode?.reason.hasPrefix("endorsement-revoked needs endorsement = roots") == true)
            }
        }

        @Test("a running server refuses a chip from the reload on that brings its list")
        func reload() async throws {
            let maker = try ChipMaker()
            let chip = SoftChip()
            let lists = try await (maker.revocations(of: []), maker.revocations(of: [Self.number]))
            try await TestServer.with {
                try TestServer.write(["a.crl": lists.0], to: "\($0.dataDirectory)/lists")
                let files = try configuration(maker, $0.dataDirectory)
                $0.endorsement = files.endorsement
                $0.endorsementRoots = files.endorsementRoots
                $0.endorsementRevoked = files.endorsementRevoked
            } _: { server in
                let user = try await TestUser.signedIn(on: server)
                let certificates = try maker.endorsement(chip, number: Self.number)
                func begin() async throws -> Answer {
                    try await user.call(
                        .POST,
                        "/v1/attestation/ak",
                        [
                            "ekCertificates": .array(certificates.map { JSONValue(base64URL: $0) }),
                            "akPublic": JSONValue(base64URL: chip.attestationArea()),
                        ]
                    )
                }
                let before = try await begin()
                #expect(before.status == 201, "\(before.text)")
                let configuration = server.configuration
                try TestServer.write(["a.crl": lists.1], to: try #require(configuration.endorsementRevoked))
                server.program.reload { () throws(ConfigurationFault) in configuration }
                let after = try await begin()
                #expect(after.status == 422 && after.code == "attestation_revoked", "\(after.text)")
                // A file that is no list leaves the former one in force.
                try TestServer.write(["a.crl": "?"], to: try #require(configuration.endorsementRevoked))
                server.program.reload { () throws(ConfigurationFault) in configuration }
                #expect(try await begin().code == "attestation_revoked")
            }
        }
    }
}
