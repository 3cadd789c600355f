// Written by Scripts/surface.swift; changes are lost.
// swift-format-ignore-file

import CryptoKit
import Foundation
import LocalAuthentication
import Security
import Testing

@Suite("The surface of SecureEnclave")
struct CryptoKitSurfaceTests {
    @Test("has Apple's names, types and values")
    func names() {
        let _: () -> Bool = { SecureEnclave.isAvailable }
        typealias SigningKey = SecureEnclave.P256.Signing.PrivateKey
        let _: () throws -> SigningKey = { try SigningKey() }
        let _: (SecAccessControl, LAContext?) throws -> SigningKey = { try SigningKey(accessControl: $0, authenticationContext: $1) }
        let _: (SecAccessControl) throws -> SigningKey = { try SigningKey(compactRepresentable: true, accessControl: $0) }
        let _: (Data, LAContext?) throws -> SigningKey = { try SigningKey(dataRepresentation: $0, authenticationContext: $1) }
        let _: (SigningKey) -> Data = { $0.dataRepresentation }
        let _: (SigningKey) -> P256.Signing.PublicKey = { $0.publicKey }
        let _: (SigningKey, Data) throws -> P256.Signing.ECDSASignature = { try $0.signature(for: $1) }
        let _: (SigningKey, SHA256.Digest) throws -> P256.Signing.ECDSASignature = { try $0.signature(for: $1) }
        typealias AgreementKey = SecureEnclave.P256.KeyAgreement.PrivateKey
        let _: (SecAccessControl, LAContext?) throws -> AgreementKey = { try AgreementKey(accessControl: $0, authenticationContext: $1) }
        let _: (Data, LAContext?) throws -> AgreementKey = { try AgreementKey(dataRepresentation: $0, authenticationContext: $1) }
        let _: (AgreementKey) -> Data = { $0.dataRepresentation }
        let _: (AgreementKey) -> P256.KeyAgreement.PublicKey = { $0.publicKey }
        let _: (AgreementKey, P256.KeyAgreement.PublicKey) throws -> SharedSecret = { try $0.sharedSecretFromKeyAgreement(with: $1) }
    }
}
