// Stores notes: add NAME (reads the text from standard input), and show, which reads all of them after one prompt.
import Foundation
import Touchstone

let notes = SecretStore("com.example.notes", rule: .biometryOrPasscode)
let arguments = Array(CommandLine.arguments.dropFirst())
do {
    switch (arguments.first, arguments.dropFirst().first) {
    case ("add", let name?):
        try await notes.write(readLine() ?? "", for: name)
    case ("show", nil):
        let proof = try await Keychain.current.authenticate(
            "Show your notes",
            using: [.strongBiometry, .passcode]
        )
        defer { proof.end() }
        for name in try await notes.status().keys.sorted() {
            let text: String = try await notes.read(name, with: .proof(proof))
            print("\(name): \(text)")
        }
    default:
        print("usage: Notes add NAME | show")
    }
} catch {
    print("\(error.message()) \(error.advice())")
    exit(1)
}
