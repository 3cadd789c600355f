import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Endurance")
struct EnduranceTests {
    /// Catches what grows with each event, such as a closure wrapped once more per event, which ended the daemon
    /// after some 4,500.
    @Test(
        "after ten thousand look-ups the same daemon still answers correctly",
        .timeLimit(.minutes(20))
    )
    func lookUps() async throws {
        let keychain = try await PrivateKeychain.ready()
        try keychain.add("one", "value")
        let daemon = try keychain.client.status().daemonProcess
        var query = keychain.query("one")
        query.returns = [.data]
        for _ in 0..<10_000 {
            let count = try keychain.client.copy(CopyItems(query: query, prompt: keychain.prompt())).count
            guard count == 1 else {
                Issue.record("\(count) items")
                return
            }
        }
        #expect(try keychain.client.status().daemonProcess == daemon)
        #expect(try keychain.all() == ["one": "value"])
    }
}
