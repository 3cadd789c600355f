// Asks for a finger or the passcode before continuing.
import Foundation
import LocalAuthentication

let context = LAContext()
var error: NSError?
guard context.canEvaluatePolicy(.deviceOwnerAuthentication, error: &error) else {
    print("cannot ask: \(error?.localizedDescription ?? "")")
    exit(1)
}
do {
    try await context.evaluatePolicy(.deviceOwnerAuthentication, localizedReason: "open the safe")
    print("open")
} catch LAError.userCancel, LAError.appCancel {
    print("cancelled")
} catch {
    print("closed: \(error.localizedDescription)")
}
