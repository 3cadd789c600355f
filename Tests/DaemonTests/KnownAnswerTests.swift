import Glibc
import KeychainModel
import Primitives
import Testing
import TouchstoneTesting

@testable import TouchstoneDaemon

@Suite("Known-answer tests of the crypto library")
struct KnownAnswerTests {
    @Test(
        "on a wrong answer the daemon names the operation and ends without opening or creating anything",
        .enabled(if: Programs.isBuilt, "touchstoned is not built"),
        arguments: KnownAnswers.Operation.allCases,
        ["--foreground", "--detach"]
    )
    func refused(operation: KnownAnswers.Operation, form: String) async throws {
        let home = try DaemonHome(["test.wrong-answer = \(operation.rawValue)"])
        let finished = try await Finished.running(
            [Programs.touchstoned, form],
            environment: home.environment
        )
        #expect(finished.status == 1)
        let lines = finished.output.split(separator: "\n")
        #expect(
            lines.first == "error: \(operation.rawValue) does not give its known answer, so nothing is opened"
        )
        #expect(lines.last?.hasPrefix("hint: ") == true)
        #expect(lines.count == 2)
        for path in [home.layout.socket, home.layout.dataDirectory] {
            #expect(access(path, F_OK) != 0, "\(path) was made")
        }
    }

    @Test("the error names the operation and has a hint", arguments: KnownAnswers.Operation.allCases)
    func told(operation: KnownAnswers.Operation) {
        var answers = KnownAnswers.published
        answers[operation][0] ^= 1
        let failure = #expect(throws: SelfTest.Failure.self) { try SelfTest.run(answers) }
        let error = failure.map { StartError($0) }
        #expect(error?.message.hasPrefix("\(operation.rawValue) ") == true)
        #expect(error?.hint.contains("install") == true)
    }
}
