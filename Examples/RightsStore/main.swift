// Protects an access token and a key with one right: after one prompt both can be used until the right is given up.
import Foundation
import LocalAuthentication
import Security

let store = LARightStore.shared
let identifier = "com.example.session"

/// The right of the last run; at the first run a new one, with a token from the server.
func session() async throws -> LAPersistedRight {
    do {
        return try await store.right(forIdentifier: identifier)
    } catch let error as NSError where error.code == Int(errSecItemNotFound) {
        let right = LARight(requirement: .biometry(fallback: .devicePasscode))
        return try await store.saveRight(right, identifier: identifier, secret: Data("token-0123".utf8))
    }
}

do {
    if CommandLine.arguments.contains("--sign-out") {
        try await store.removeRight(forIdentifier: identifier)
        print("signed out")
        exit(0)
    }
    let right = try await session()
    try await right.checkCanAuthorize()
    try await right.authorize(localizedReason: "sign in to example.com")

    let token = try await right.secret.rawData
    print("token: \(String(decoding: token, as: UTF8.self))")

    let algorithm = SecKeyAlgorithm.ecdsaSignatureMessageX962SHA256
    let challenge = Data("challenge".utf8)
    guard right.key.canSign(using: algorithm) else { fatalError("no such algorithm") }
    let signature = try await right.key.sign(challenge, algorithm: algorithm)
    try await right.key.publicKey.verify(challenge, signature: signature, algorithm: algorithm)
    print("signature: \(signature.base64EncodedString())")

    await right.deauthorize()
} catch LAError.userCancel {
    print("cancelled")
    exit(1)
} catch {
    print("no session: \(error.localizedDescription)")
    exit(1)
}
