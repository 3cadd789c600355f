// Locks a program until its owner presents a finger or the passcode.
import Foundation

let lock = BiometricLock()
print("locked; your \(lock.nameOfBiometry) opens it")
switch await lock.open(reason: "open the journal") {
case .open: print("open")
case .fingersChanged: print("the enrolled fingers have changed: sign in anew")
case .stillClosed(let why):
    print("closed: \(why)")
    exit(1)
}
