import CTSS2
import KeychainModel
import SecretMemory
import Testing
import TouchstoneTesting
import WebAuthnModel

@testable import TPMDriver

@Suite("Protection of TPM private keys")
struct KeyProtectionTests {
    /// `TPM_RC_AUTH_UNAVAILABLE`: no such way to authorise.
    private let authUnavailable: UInt32 = 0x12F

    @Test("a key is made in the TPM and fixed to it, can sign and agree, and needs its policy")
    func attributes() async throws {
        let world = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        let area = try KeyArea(try await world.tpm.publicArea(of: key.blob))
        // Exactly fixedTPM, fixedParent, sensitiveDataOrigin, noDA, decrypt, sign (Part 2, 8.3).
        let bits: [UInt32] = [1, 4, 5, 10, 17, 18]
        #expect(area.attributes == bits.reduce(0) { $0 | 1 << $1 })
        #expect(area.x963 == key.publicKey)
        #expect(area.scheme == 0x0010)
        #expect(area.authPolicy == RelyingParty.policyDigest([.authValue]))
    }

    @Test("a key's authorisation without its policy is not enough, encrypted or not")
    func policyOnly() async throws {
        let world = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        for session in [SessionKind.password, .hmac] {
            #expect(try await world.tpm.trySigning(key.blob, .fixed(1), session) == authUnavailable)
        }
        #expect(try await world.tpm.trySigning(key.blob, .fixed(1), .policy) == nil)
    }

    @Test("a key cannot be duplicated out of the TPM, with any session", arguments: SessionKind.allCases)
    func duplicate(session: SessionKind) async throws {
        let world = try await KeyWorld.start()
        let key = try await world.keys.makeKey(authorization: .fixed(1))
        #expect(try await world.tpm.tryDuplicating(key.blob, .fixed(1), session) != nil)
        try await world.expectToSign(key, .fixed(1))
    }

    @Test(
        "neither a key's authorisation nor an agreed secret crosses the bus in the clear"
    )
    func capture() async throws {
        let chip = try await SoftwareTPM.start()
        let recorder = try TPMRecorder(chip)
        let tpm = TPM(configuration: recorder.tcti)
        let keys = TPMPrivateKeys(tpm)
        let authorization = SecretBytes.random(count: 32)
        let key = try await keys.makeKey(authorization: authorization)
        let peer = try await keys.makeKey(authorization: .fixed(1))
        let secret = try await keys.agree(
            with: peer.publicKey,
            key: key.blob,
            authorization: authorization
        ).octets
        let value = PrivateKeyTemplate.authorizationValue(authorization).octets
        #expect(!recorder.traffic.contains(secret))
        #expect(!recorder.traffic.contains(value))
        #expect(!recorder.traffic.contains(authorization.octets))
        // The control: without encryption the capture does contain them.
        try await tpm.agreeInTheClear(peer.publicKey, key.blob, authorization)
        #expect(recorder.traffic.contains(secret))
        #expect(!recorder.traffic.contains(value))
    }
}

/// How a command is authorised.
enum SessionKind: CaseIterable {
    case password, hmac, policy
}

extension TPM {
    /// The TPMT_PUBLIC that `TPM2_ReadPublic` returns for a key.
    func publicArea(of blob: [UInt8]) throws -> [UInt8] {
        try withLoadedKey(blob, .fixed(0)) { connection, key, _ throws(TPMError) in
            var area: UnsafeMutablePointer<TPM2B_PUBLIC>?
            try connection.send {
                Esys_ReadPublic(
                    $0.pointer,
                    key,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    &area,
                    nil,
                    nil
                )
            }
            defer { Esys_Free(area) }
            guard let area else { throw .damaged }
            return Array(try PublicArea.octets(of: area.pointee).dropFirst(2))
        }
    }

    /// Tries to sign, and returns the TPM's error.
    func trySigning(
        _ blob: [UInt8],
        _ authorization: borrowing SecretBytes,
        _ kind: SessionKind
    ) throws -> UInt32? {
        try attempt(blob, authorization, kind) { connection, key, session throws(TPMError) in
            var digest = TPM2B_DIGEST()
            try TPM2B.set(&digest, [UInt8](repeating: 1, count: 32))
            var scheme = TPMT_SIG_SCHEME()
            scheme.scheme = kTPM2_ALG_ECDSA
            scheme.details.ecdsa.hashAlg = kTPM2_ALG_SHA256
            var ticket = TPMT_TK_HASHCHECK()
            ticket.tag = TPM2_ST(TPM2_ST_HASHCHECK)
            ticket.hierarchy = TPMI_RH_HIERARCHY(TPM2_RH_NULL)
            var signature: UnsafeMutablePointer<TPMT_SIGNATURE>?
            defer { Esys_Free(signature) }
            try connection.send {
                Esys_Sign(
                    $0.pointer,
                    key,
                    session,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    &digest,
                    &scheme,
                    &ticket,
                    &signature
                )
            }
        }
    }

    /// Tries `TPM2_Duplicate` without a new parent or protection, and returns the TPM's error.
    func tryDuplicating(
        _ blob: [UInt8],
        _ authorization: borrowing SecretBytes,
        _ kind: SessionKind
    ) throws -> UInt32? {
        try attempt(blob, authorization, kind) { connection, key, session throws(TPMError) in
            if kind == .policy {
                // The policy that the DUP role needs (Part 1, 19.7.8).
                try connection.send {
                    Esys_PolicyCommandCode(
                        $0.pointer,
                        session,
                        ESYS_TR_NONE,
                        ESYS_TR_NONE,
                        ESYS_TR_NONE,
                        TPM2_CC(0x14B)
                    )
                }
            }
            var symmetric = TPMT_SYM_DEF_OBJECT()
            symmetric.algorithm = kTPM2_ALG_NULL
            var sensitive: UnsafeMutablePointer<TPM2B_PRIVATE>?
            defer { Esys_Free(sensitive) }
            try connection.send {
                Esys_Duplicate(
                    $0.pointer,
                    key,
                    ESYS_TR_RH_NULL,
                    session,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    nil,
                    &symmetric,
                    nil,
                    &sensitive,
                    nil
                )
            }
        }
    }

    /// Agrees on a secret with a policy session that does not encrypt.
    func agreeInTheClear(
        _ publicKey: [UInt8],
        _ blob: [UInt8],
        _ authorization: borrowing SecretBytes
    ) throws {
        let error = try attempt(blob, authorization, .policy) { connection, key, session throws(TPMError) in
            var point = TPM2B_ECC_POINT()
            if let given = P256Octets.point(x963: publicKey) { point = given }
            var shared: UnsafeMutablePointer<TPM2B_ECC_POINT>?
            defer { Esys_Free(shared) }
            try connection.send {
                Esys_ECDH_ZGen($0.pointer, key, session, ESYS_TR_NONE, ESYS_TR_NONE, &point, &shared)
            }
        }
        try #require(error == nil)
    }

    private func attempt(
        _ blob: [UInt8],
        _ authorization: borrowing SecretBytes,
        _ kind: SessionKind,
        _ body: (TPMConnection, ESYS_TR, ESYS_TR) throws(TPMError) -> Void
    ) throws -> UInt32? {
        do throws(TPMError) {
            try withLoadedKey(blob, authorization) { connection, key, _ throws(TPMError) in
                switch kind {
                case .password: try body(connection, key, ESYS_TR_PASSWORD)
                case .hmac: try body(connection, key, try connection.session())
                case .policy:
                    try connection.withPolicySession { session throws(TPMError) in
                        try connection.policyAuthValue(session)
                        try connection.setUse(of: session)
                        try body(connection, key, session)
                    }
                }
            }
            return nil
        } catch {
            return error.tpmError ?? .max
        }
    }
}
