import Foundation
import Passphrases
import Security

// Has its own passphrase: an item belongs to the program that created it.
let passphrases = Passphrases(service: "org.example.neighbours")
do {
    let isKept = try passphrases.find("tls") != nil
    _ = try passphrases.passphrase("tls")
    print(isKept ? "found" : "made")
} catch let failure as Passphrases.Failure where failure.status == errSecInteractionNotAllowed {
    print("locked")
    exit(1)
}
