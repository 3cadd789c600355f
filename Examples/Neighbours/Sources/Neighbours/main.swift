import Foundation
import Passphrases

do {
    let directory = URL(fileURLWithPath: CommandLine.arguments.dropFirst().first ?? ".")
    let store = ServerKey(
        file: directory.appendingPathComponent("server.p12"),
        passphrase: try Passphrases(service: "org.example.neighbours").passphrase("tls")
    )
    let server = try await Server(try store.bundle())
    let answer = try await Client(trusting: server.certificate).get(port: server.port)
    print("https://localhost answered: \(answer)")
    try await server.stop()
} catch {
    print("no server: \(error.localizedDescription)")
    exit(1)
}
