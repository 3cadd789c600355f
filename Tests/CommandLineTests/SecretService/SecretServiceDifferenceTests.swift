import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// The same calls to GNOME Keyring and to the door: what differs is known, and why.
@Suite(
    "The Secret Service beside GNOME Keyring",
    .enabled(
        if: SecretServiceWorld.isPossible && Programs.isBuilt("/usr/bin/gnome-keyring-daemon")
            && Programs.isBuilt("/usr/bin/secret-tool"),
        "touchstone-secrets, gnome-keyring and secret-tool are not all there"
    ),
    .timeLimit(.minutes(5))
)
struct SecretServiceDifferenceTests {
    /// A call with another outcome: GNOME Keyring's, and ours.
    private static let known: [String: (theirs: String, ours: String)] = [
        // It forgets the type, which the specification keeps with the secret.
        "a binary secret": (
            #"(b'\x00\xff\n', 'text/plain')"#, #"(b'\x00\xff\n', 'application/octet-stream')"#
        ),
        // Errors, which are the specification's and D-Bus's own here.
        "an alias for nothing there": (
            "org.freedesktop.DBus.Error.NotSupported", "org.freedesktop.Secret.Error.NoSuchObject"
        ),
        "a property that is not there": (
            "org.freedesktop.DBus.Error.InvalidArgs", "org.freedesktop.DBus.Error.UnknownProperty"
        ),
        "a property that cannot be set": (
            "org.freedesktop.DBus.Error.InvalidArgs", "org.freedesktop.DBus.Error.PropertyReadOnly"
        ),
        "an object that is not there": (
            "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.Secret.Error.NoSuchObject"
        ),
        "a deleted one": (
            "org.freedesktop.DBus.Error.UnknownMethod", "org.freedesktop.Secret.Error.NoSuchObject"
        ),
    ]

    private func outcomes(of world: SecretServiceWorld) async throws -> [(name: String, outcome: String)] {
        let file = world.keychain.home.path + "/calls.py"
        try SecretServiceCalls.script.write(toFile: file, atomically: true, encoding: .utf8)
        let result = try await world.run("/usr/bin/python3", file)
        try #require(result.status == 0, "\(result.errors)")
        return result.text.split(separator: "\n").map { line in
            let parts = line.split(separator: ": ", maxSplits: 1).map(String.init)
            return (parts[0], parts.count == 2 ? parts[1] : "")
        }
    }

    @Test("each call has the same outcome, but for those that are known")
    func same() async throws {
        let ours = try await outcomes(of: try await SecretServiceWorld())
        let theirs = try await SecretServiceWorld.beside { try await outcomes(of: $0) }

        #expect(ours.count > 50 && ours.map(\.name) == theirs.map(\.name))
        var seen: Set<String> = []
        for (ours, theirs) in zip(ours, theirs) where ours.outcome != theirs.outcome {
            print("differs: \(ours.name): GNOME Keyring \(theirs.outcome), Touchstone \(ours.outcome)")
            seen.insert(ours.name)
            #expect(Self.known[ours.name]?.theirs == theirs.outcome, "\(ours.name)")
            #expect(Self.known[ours.name]?.ours == ours.outcome, "\(ours.name)")
        }
        #expect(seen == Set(Self.known.keys))
    }
}
