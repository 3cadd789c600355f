// Signs a payment with a key of this device, with one prompt for each: PaymentSigner AMOUNT PAYEE.
import Foundation
import Touchstone

/// The device's key; created for the first payment, when a server would register it.
func paymentKey() async throws(TouchstoneError) -> DeviceSigningKey {
    do {
        return try await DeviceSigningKey.find("com.example.payments")
    } catch {
        // An invalidated or expired key is not replaced here: the server has to register the new one.
        guard error.code == .notFound else { throw error }
        return try await DeviceSigningKey.create("com.example.payments", rule: .biometryOrPasscode)
    }
}

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count == 2 else {
    print("usage: PaymentSigner AMOUNT PAYEE")
    exit(2)
}
do {
    let key = try await paymentKey()
    // The prompt shows exactly what is signed.
    let payment = "Pay \(arguments[0]) to \(arguments[1])"
    var prompt = PromptText(payment, timeout: .seconds(30))
    prompt.title = "Example Bank"
    let signature = try await key.sign(Data(payment.utf8), prompt)
    print("key: \(key.publicKey.x963Representation.base64EncodedString())")
    print("signature: \(signature.derRepresentation.base64EncodedString())")
    print("assurance: \(signature.assurance.level)")
} catch {
    print("\(error.message()) \(error.advice())")
    exit(1)
}
