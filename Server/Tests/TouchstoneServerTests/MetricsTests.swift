import CoreMetrics
import Foundation
import NIOHTTP1
import Testing
import WebAuthnModel

@testable import TouchstoneServer

extension ServerTests {
    @Suite("Metrics")
    struct MetricsTests {
        /// What `promtool check metrics` says of a text: nothing, with status 0, if it has no complaint.
        private static func promtool(_ text: String) async throws -> (status: Int32, text: String) {
            var result: (Int32, String) = (1, "")
            try await TestServer.inDirectory { directory in
                let file = URL(filePath: "\(directory)/metrics")
                try Data(text.utf8).write(to: file)
                result = try await SystemProgram.run("promtool", ["check", "metrics"], input: file)
            }
            return result
        }

        @Test("promtool has no complaint about the metrics of a server that has worked")
        func server() async throws {
            try await TestServer.with { server in
                let user = try await TestUser.withPasskey(on: server)
                #expect(try await user.logInByPasskey().status == 200)
                #expect(try await user.logIn("wrong wrong").status == 401)
                #expect(try await user.renew().status == 200)
                #expect(try await server.send(.HEAD, server.api + "/nowhere").status == 404)
                let text = try await server.call(.GET, "/metrics", isAdmin: true).text
                let (status, said) = try await Self.promtool(text)
                #expect(status == 0 && said.isEmpty, "\(said)")
                // Otherwise the silence would mean nothing.
                for (wrong, complaint) in [
                    (text.replacing("_logins_total", with: "_logins"), "_total"),
                    (text.replacing("_busy_seconds_total", with: "_busy_milliseconds_total"), "base unit"),
                    (text.replacing(/# HELP touchstone_store_pending .*\n/, with: ""), "no help"),
                ] {
                    let (status, said) = try await Self.promtool(wrong)
                    #expect(status != 0 && said.contains(complaint), "\(said)")
                }
                for name in ["writes", "commits", "reads", "failures", "retries"] {
                    #expect(text.contains("# TYPE touchstone_store_\(name)_total counter\n"))
                    let line = text.split(separator: "\n").first {
                        $0.hasPrefix("touchstone_store_\(name)_total ")
                    }
                    #expect(line?.split(separator: " ").last.flatMap { Int($0) } != nil, "\(name)")
                }
                let busy = text.split(separator: "\n").first {
                    $0.hasPrefix("touchstone_store_busy_seconds_total ")
                }
                let seconds = try #require(busy?.split(separator: " ").last.flatMap { Double($0) })
                #expect(seconds > 0 && seconds < 600)
                // Where logins are.
                for bound in ["0.0001", "0.001", "0.005", "0.02", "0.05"] {
                    #expect(
                        text.contains(
                            #"touchstone_request_seconds_bucket{route="/v1/login",le="\#(bound)"} "#
                        )
                    )
                }
            }
        }

        @Test("metrics of libraries get the names and the help that promtool asks for")
        func libraries() async throws {
            let registry = PrometheusRegistry()
            Counter(label: "lib.requests", dimensions: [("Who", "a\"b\\c\nd")], factory: registry).increment()
            Counter(label: "lib_errors_total", factory: registry).increment(by: 2)
            CoreMetrics.Timer(label: "lib.wait", factory: registry).recordNanoseconds(150_000)
            CoreMetrics.Timer(label: "lib_work_seconds", factory: registry).recordNanoseconds(2_000_000_000)
            Meter(label: "1st", factory: registry).set(1.5)
            Recorder(label: "lib.size", aggregate: true, factory: registry).record(3)
            registry.total("lib_bytes_total", 1e7)
            let text = registry.text()
            for line in [
                "lib_errors_total 2", "lib_wait_seconds_bucket{le=\"0.0001\"} 0",
                "lib_wait_seconds_bucket{le=\"0.0002\"} 1", "lib_work_seconds_sum 2", "_1st 1.5",
                "lib_bytes_total 10000000", "# TYPE lib_requests_total counter",
            ] { #expect(text.contains("\(line)\n"), "\(line): \(text)") }
            // A label with a capital, which is the library's: the only complaint.
            let (_, said) = try await Self.promtool(text.replacing("Who", with: "who"))
            #expect(said.isEmpty, "\(said)")
        }
    }
}
