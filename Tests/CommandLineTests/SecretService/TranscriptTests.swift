import Foundation
import Glibc
import ScriptedDaemon
import Testing
import TouchstoneTesting

/// What real clients say, played to the door without the clients, whose versions differ from one distribution to the next.
///
/// With `TOUCHSTONE_WRITE_GOLDEN=1` each client that is installed is recorded anew, and GNOME Keyring with it.
@Suite(
    "Transcripts of clients of the Secret Service",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .timeLimit(.minutes(10))
)
struct TranscriptTests {
    private static let names = TranscriptClient.allCases.map(\.rawValue)

    /// Makes a problem an issue of the transcript's line.
    private static func report(_ line: Int, _ text: String, in name: String) {
        Issue.record(
            "\(name).txt:\(line): \(text)",
            sourceLocation: SourceLocation(
                fileID: "CommandLineTests/\(name).txt",
                filePath: Transcript.file(name),
                line: line,
                column: 1
            )
        )
    }

    private func record(_ client: TranscriptClient) async throws {
        guard Transcript.isWriting, client.isInstalled else { return }
        let isChanged = try await client.record(in: try await SecretServiceWorld())
        #expect(!isChanged, "\(client.rawValue) was recorded anew: see what changed")
        guard client.isWithoutBoxes, Programs.isBuilt("/usr/bin/gnome-keyring-daemon") else { return }
        let isOtherChanged = try await SecretServiceWorld.beside { world in
            try await client.record(in: world, with: "gnome-keyring")
        }
        #expect(!isOtherChanged, "\(client.rawValue) with GNOME Keyring was recorded anew: see what changed")
    }

    @Test("the door answers each client as it did when that was recorded", arguments: names)
    func plays(_ name: String) async throws {
        if let client = TranscriptClient(rawValue: name) { try await record(client) }
        do {
            let transcript = try Transcript(name)
            #expect(transcript.steps.count > 10)
            var player = try await TranscriptPlayer(try await SecretServiceWorld())
            guard let problem = try await player.play(transcript) else { return }
            Self.report(problem.line, problem.text, in: name)
        } catch let error as Transcript.Malformed {
            Self.report(error.line, error.text, in: name)
        }
    }

    @Test("a changed answer, a lost call and a lost signal are noticed, with their lines")
    func notices() async throws {
        let client = TranscriptClient.secretTool
        let transcript = try Transcript(client.rawValue)
        let text = transcript.text
        let signals = transcript.steps.count { if case .signal = $0.step { true } else { false } }
        let lines = text.components(separatedBy: "\n")
        let answer = try #require(lines.firstIndex { $0.hasPrefix("  gets") && $0.contains("hello again") })
        let call = try #require(lines.firstIndex { $0.contains("Secret.Collection.CreateItem") })
        let signal = try #require(lines.firstIndex { $0.contains("ItemCreated") })

        var changed = lines
        changed[answer] = lines[answer].replacing("hello again", with: "hello  gain")
        var player = try await TranscriptPlayer(try await SecretServiceWorld())
        var problem = try await player.play(Transcript("changed", text: changed.joined(separator: "\n")))
        #expect(problem?.line == answer + 1 && problem?.text.contains("hello again") == true)

        let lost = (lines[..<call] + lines[(call + 2)...]).joined(separator: "\n")
        #expect {
            try Transcript("lost", text: lost)
        } throws: { error in
            guard let error = error as? Transcript.Malformed else { return false }
            return error.line == lines.count - 3 && error.text.hasPrefix("# 48 calls")
                && error.text.contains("47 calls")
        }

        let silent = (lines[..<signal] + lines[(signal + 1)...]).joined(separator: "\n")
            .replacing("\(signals) signals", with: "\(signals - 1) signals")
        player = try await TranscriptPlayer(try await SecretServiceWorld())
        problem = try await player.play(Transcript("silent", text: silent))
        #expect(problem?.line == signal + 1, "\(String(describing: problem))")
    }
}
