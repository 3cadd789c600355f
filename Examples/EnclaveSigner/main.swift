// Signs a challenge, as a server sends it at sign-in, with a key kept by this machine's hardware.
import CryptoKit
import Foundation
import LocalAuthentication

guard SecureEnclave.isAvailable else {
    print("no keys can be made here")
    exit(1)
}
let challenge = Data((CommandLine.arguments.dropFirst().first ?? "challenge").utf8)
do {
    let key = try DeviceKey(name: "sign-in", reason: "sign in to example.com")
    let signature = try key.sign(challenge)
    print("public key: \(key.publicKey.x963Representation.base64EncodedString())")
    print("signature:  \(signature.derRepresentation.base64EncodedString())")
    // The server's part; it has only the public key.
    let server = try P256.Signing.PublicKey(x963Representation: key.publicKey.x963Representation)
    print(server.isValidSignature(signature, for: challenge) ? "signed in" : "refused")
} catch LAError.userCancel {
    print("cancelled")
    exit(1)
} catch {
    print("not signed: \(error.localizedDescription)")
    exit(1)
}
