import Foundation
import Glibc
import KeychainClient
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Residues of secrets", .serialized)
struct ResidueTests {
    private static let name = "name-of-the-item-8f31c2"
    private static let secret = "secret-of-the-item-77ab09e1d5"
    private static let later = "secret-after-the-change-19cc60f2"
    private static let guarded = "secret-behind-the-passcode-5e0d1"
    private static let reason = "reason-of-the-request-b4d2"
    private static let wrong = "wrong passcode hazel-2bd7 that was typed"

    /// Uses every function of a keychain, with markers in everything secret or private.
    private static func use(_ keychain: PrivateKeychain) throws {
        try keychain.add(name, secret)
        try keychain.update(name, later)
        #expect(try keychain.value(name) == later)
        let control = try AccessControl(accessibility: .whenUnlocked, flags: .devicePasscode)
        try keychain.add("guarded-\(name)", guarded, control)
        var query = keychain.query("guarded-\(name)")
        query.returns = .data
        _ = try keychain.client.copy(CopyItems(query: query, prompt: keychain.prompt(reason)))
        try keychain.client.lock()
        try keychain.tellPerson([.types(wrong), .types(PrivateKeychain.passcode)])
        try keychain.unlock()
        _ = try keychain.client.evaluatePolicy(
            EvaluatePolicy(policy: 2, context: 3, reuseSeconds: 0, prompt: keychain.prompt(reason))
        )
        try keychain.delete(name)
        try keychain.add("kept-\(name)", secret)
    }

    // Catches attributes in clear, a logged reason or name, and a secret passed through the environment.
    @Test("no secret, name, reason or passcode is in a log, a file, the environment or the command line")
    func files() async throws {
        let keychain = try await PrivateKeychain.ready(
            settings: ["log-level = trace"] + PrivateKeychain.keepsLog
        )
        try Self.use(keychain)
        let process = "/proc/\(keychain.processID)"
        var places: [String: Data] = [:]
        for place in [process + "/environ", process + "/cmdline"] {
            places[place] = try Data(contentsOf: URL(fileURLWithPath: place))
        }
        let state = try FileImage(of: keychain.layout.dataDirectory)
        for (name, octets) in state.files { places[name] = Data(octets) }
        #expect(state.files.keys.contains("items.sqlite-wal"))
        keychain.stop(with: SIGTERM)
        let journal = keychain.home.appending("daemon.stderr")
        places[journal] = try Data(contentsOf: URL(fileURLWithPath: journal))
        for (name, octets) in try FileImage(of: keychain.layout.dataDirectory).files {
            places["afterwards: " + name] = Data(octets)
        }
        let markers = [
            Self.name, Self.secret, Self.later, Self.guarded, Self.reason, Self.wrong,
            PrivateKeychain.passcode,
        ]
        for (place, octets) in places {
            for marker in markers {
                #expect(octets.range(of: Data(marker.utf8)) == nil, "\(marker) in \(place)")
            }
        }
        // Control: the search finds markers that exist, and the log has content.
        let log = places[journal] ?? Data()
        #expect(log.range(of: Data("itemAccessed".utf8)) != nil)
        #expect(places[process + "/environ"]?.range(of: Data(keychain.home.path.utf8)) != nil)
    }

    // Catches a pipe, a log or a helper through which a secret passes.
    @Test(
        "the passcode is written once, by the prompt program, and a secret once, to the requesting client",
        .enabled(if: Strace.isThere, "needs root and strace")
    )
    func writes() async throws {
        let keychain = try await PrivateKeychain.ready(settings: ["log-level = trace"])
        try keychain.client.lock()
        let log = keychain.home.appending("writes")
        let calls = "trace=write,writev,pwrite64,pwritev,sendto,sendmsg"
        let options = ["-y", "-s", "65535", "-e", calls, "-o", log]
        let strace = try await Strace.attach(to: keychain.processID, options, followsPrograms: true)
        try keychain.unlock()
        try keychain.add(Self.name, Self.secret)
        #expect(try keychain.value(Self.name) == Self.secret)
        strace.detach()
        let lines = try String(contentsOfFile: log, encoding: .utf8).split(separator: "\n")
        let typed = lines.filter { $0.contains(PrivateKeychain.passcode) }
        #expect(typed.count == 1 && typed.allSatisfy { $0.contains("write(1<socket:") }, "\(typed)")
        #expect(typed.allSatisfy { !$0.hasPrefix("\(keychain.processID) ") })
        let told = lines.filter { $0.contains(Self.secret) }
        #expect(told.count == 1 && told.allSatisfy { $0.contains("sendmsg(") }, "\(told)")
    }

    // Catches a copy in memory that is not wiped.
    @Test(
        "after a lock the daemon's memory contains neither the passcode nor a secret",
        .enabled(if: geteuid() == 0, "needs root to read the daemon's memory")
    )
    func memory() async throws {
        let keychain = try await PrivateKeychain.ready()
        try Self.use(keychain)
        try keychain.delete("guarded-\(Self.name)")
        try keychain.client.lock()
        let memory = try ProcessMemory(keychain.processID)
        // Control: the search finds the daemon's own path.
        #expect(!memory.places(of: Array(keychain.layout.dataDirectory.utf8)).isEmpty)
        #expect(memory.octetCount > 1 << 20)
        for marker in [Self.secret, Self.later, Self.guarded, Self.wrong, PrivateKeychain.passcode] {
            let places = memory.places(of: Array(marker.utf8))
            #expect(places.isEmpty, "\(marker) in \(places)")
        }
    }
}
