import Foundation
import Logging
import Synchronization
import Testing

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Lines of the log")
    struct LogLineTests {
        /// Text with everything that a line, a terminal or a reader could misunderstand.
        private static let hostile =
            "a\nb\r\t\"\\ \u{1B}[2J\u{7F}\u{85}\u{9B}\u{2028}\u{2029}\u{202E}\u{2066}\u{200F}\u{61C}\u{FEFF}\u{E0041}\0 é漢🔑"

        private struct Odd: Error, CustomStringConvertible { let description = LogLineTests.hostile }

        private final class Lines: Sendable {
            let all = Mutex<[String]>([])
            func logger(_ format: LogFormat, label: String = "test") -> Logger {
                Logger(label: label) { label in
                    LineLogHandler(label: label, format: format) { line in
                        self.all.withLock { $0.append(line) }
                    }
                }
            }
            var last: String { all.withLock { $0.last ?? "" } }
        }

        private static func isHarmless(_ line: String) -> Bool {
            line.hasSuffix("\n")
                && line.dropLast().unicodeScalars.allSatisfy { scalar in
                    scalar == " "
                        || ![
                            .control, .format, .lineSeparator, .paragraphSeparator, .spaceSeparator,
                            .privateUse,
                            .unassigned,
                        ].contains(scalar.properties.generalCategory)
                }
        }

        @Test("a line of JSON has what was logged, whatever it was, and nothing that acts on a terminal")
        func json() throws {
            let lines = Lines()
            let hostile = Self.hostile
            var logger = lines.logger(.json, label: hostile)
            logger[metadataKey: "own"] = "1"
            logger[metadataKey: hostile] = "2"
            logger.error(
                "\(hostile)",
                error: Odd(),
                metadata: [
                    "own": "replaced", "number": .stringConvertible(17), "text": "17",
                    "list": ["\(hostile)", .stringConvertible(-1)], "inner": ["\(hostile)": "\(hostile)"],
                ]
            )
            let line = lines.last
            #expect(Self.isHarmless(line), "\(line)")
            let object = try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
            )
            #expect(Set(object.keys) == ["time", "level", "label", "message", "metadata"])
            #expect(object["level"] as? String == "error")
            #expect(object["label"] as? String == hostile)
            #expect(object["message"] as? String == hostile)
            let metadata = try #require(object["metadata"] as? [String: Any])
            #expect(metadata["own"] as? String == "replaced")
            #expect(metadata[hostile] as? String == "2")
            #expect(metadata["number"] as? Int == 17 && metadata["number"] as? String == nil)
            #expect(metadata["text"] as? String == "17")
            #expect((metadata["list"] as? [Any])?.first as? String == hostile)
            #expect((metadata["inner"] as? [String: String]) == [hostile: hostile])
            #expect(metadata["error.message"] as? String == hostile)
            let formatter = ISO8601DateFormatter()
            formatter.formatOptions = [.withInternetDateTime, .withFractionalSeconds]
            let time = try #require((object["time"] as? String).flatMap(formatter.date))
            #expect(abs(time.timeIntervalSinceNow) < 60)
        }

        @Test("a line of text has the same, with escapes where characters are not shown")
        func text() throws {
            let lines = Lines()
            lines.logger(.text).warning(
                "\(Self.hostile)",
                metadata: ["key\u{1B}": "\(Self.hostile)", "a": "1"]
            )
            let line = lines.last
            #expect(Self.isHarmless(line), "\(line)")
            #expect(line.contains(" warning test: a=1 key\\u001b=a\\nb\\r"))
            #expect(
                line.contains(
                    #"\u007f\u0085\u009b\u2028\u2029\u202e\u2066\u200f\u061c\ufeff\udb40\udc41\u0000 é漢🔑"#
                )
            )
            #expect(line.hasPrefix("20") && line.contains("Z warning"))
        }

        @Test("messages below the level are not logged")
        func level() {
            let lines = Lines()
            var logger = lines.logger(.json)
            logger.logLevel = .notice
            logger.info("no")
            #expect(lines.last.isEmpty)
            logger.notice("yes")
            #expect(lines.last.contains(#""message":"yes""#))
        }

        @Test("times have the forms of RFC 3339 and of HTTP")
        func times() {
            let time = UTCTime(seconds: 784_111_777, milliseconds: 7)
            #expect(time.httpDate == "Sun, 06 Nov 1994 08:49:37 GMT")
            #expect(time.rfc3339 == "1994-11-06T08:49:37.007Z")
            #expect(UTCTime(seconds: 951_782_400).rfc3339 == "2000-02-29T00:00:00.000Z")
        }

        @Test("the program logs JSON from its start to its end, also when it cannot start")
        func program() async throws {
            try await TestServer.inDirectory { directory in
                let ports = try FreePorts()
                var environment = ports.environment
                environment["TOUCHSTONE_SERVER_LOG_FORMAT"] = "json"
                environment["TOUCHSTONE_SERVER_LOG_LEVEL"] = "debug"
                let process = try BuiltProgram(directory, ["serve"], environment)
                let offer = try await process.output(until: "\"name\": \"me\"}'")
                #expect(offer.contains("ts_bt_"))
                // The log has no tokens.
                process.terminate()
                #expect(await process.status() == 0)
                let lines = try await process.output(until: nil).split(separator: "\n")
                    .filter { $0.hasPrefix("{") }
                #expect(lines.contains { $0.contains(#""message":"serving""#) })
                #expect(!lines.contains { $0.contains("ts_bt_") })
                for line in lines {
                    #expect(
                        try JSONSerialization.jsonObject(with: Data(line.utf8)) is [String: Any],
                        "\(line)"
                    )
                }
                environment["TOUCHSTONE_SERVER_DATABASE"] = "postgresql://localhost:1/none?connect_timeout=1"
                let failed = try BuiltProgram(directory, ["serve"], environment)
                #expect(await failed.status() == 69)
                let said = try await failed.output(until: nil)
                #expect(said.split(separator: "\n").allSatisfy { $0.hasPrefix("{") }, "\(said)")
                #expect(said.contains(#""level":"critical""#))
            }
        }
    }
}
