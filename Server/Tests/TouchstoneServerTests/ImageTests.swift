import Foundation
import Testing

@testable import TouchstoneServer

extension ServerTests {
    /// The image of `Scripts/oci` with the program that is tested, unpacked by umoci and run by chroot(8): no other container is needed.
    @Suite("The image", .enabled(if: geteuid() == 0, "not root"))
    struct ImageTests {
        private static let user: UInt32 = 65532

        private static func build(_ directory: String) async throws -> String {
            let script = URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../Scripts/oci").standardizedFileURL.path
            let program = BuiltProgram.products.appending(path: "touchstone-server").path
            let (status, text) = try await SystemProgram.run(
                "bash",
                [script, "--program", program, directory]
            )
            #expect(status == 0, "\(text)")
            return try #require(text.split(separator: "\n").last.map(String.init))
        }

        /// The root directory of the unpacked archive, and its runtime configuration.
        private static func unpack(_ archive: String, _ directory: String) async throws -> (
            root: String, configuration: Data
        ) {
            let layout = "\(directory)/layout"
            try FileManager.default.createDirectory(atPath: layout, withIntermediateDirectories: true)
            _ = try await SystemProgram.run("tar", ["--extract", "--file", archive, "--directory", layout])
            let bundle = "\(directory)/bundle"
            let image = "\(layout):\(ServerVersion.text)"
            let (status, text) = try await SystemProgram.run("umoci", ["unpack", "--image", image, bundle])
            #expect(status == 0, "\(text)")
            let file = URL(filePath: "\(bundle)/config.json")
            return ("\(bundle)/rootfs", try Data(contentsOf: file))
        }

        @Test("it serves as a user of its own, from its directory, and ends when told to")
        func serves() async throws {
            try await TestServer.inDirectory { directory in
                let (root, configuration) = try await Self.unpack(try await Self.build(directory), directory)
                let process = try #require(
                    (try JSONSerialization.jsonObject(with: configuration) as? [String: Any])?["process"]
                        as? [String: Any]
                )
                #expect(process["args"] as? [String] == ["/usr/bin/touchstone-server", "serve"])
                #expect((process["user"] as? [String: Any])?["uid"] as? UInt32 == Self.user)
                let variables = try #require(process["env"] as? [String])
                #expect(variables.contains("TOUCHSTONE_SERVER_LISTEN=0.0.0.0:8080"))
                #expect(!FileManager.default.fileExists(atPath: "\(root)/bin/sh"))
                for name in ["usr/share/doc/touchstone-server/NOTICE", "etc/ssl/certs/ca-certificates.crt"] {
                    #expect(FileManager.default.fileExists(atPath: "\(root)/\(name)"), "\(name)")
                }
                for name in ["proc", "dev"] {
                    try FileManager.default.createDirectory(
                        atPath: "\(root)/\(name)",
                        withIntermediateDirectories: true
                    )
                }
                // As a container's runtime does it: its own mounts, no new privileges, the image's user and variables.
                let start = """
                    mount --make-rprivate / && mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && shift &&
                    exec setpriv --no-new-privs /usr/sbin/chroot --userspec=\(Self.user):\(Self.user) "$0" /usr/bin/touchstone-server "$@"
                    """
                let ports = try FreePorts()
                var environment = ports.environment
                environment["TOUCHSTONE_SERVER_DATA_DIRECTORY"] = "/var/lib/touchstone-server"
                let launcher = ["/usr/bin/unshare", "--mount", "/bin/sh", "-c", start, root]
                let server = try BuiltProgram(directory, ["serve"], environment, by: launcher)
                let text = try await server.output(until: "\"name\": \"me\"}'")
                #expect(try await ports.status("/.well-known/webauthn", port: ports.api) == 200, "\(text)")
                #expect(try await ports.status("/health/ready", port: ports.admin) == 200)
                let data = "\(root)/var/lib/touchstone-server"
                let names = try FileManager.default.contentsOfDirectory(atPath: data)
                #expect(!names.isEmpty)
                for name in names {
                    let owner = try FileManager.default.attributesOfItem(atPath: "\(data)/\(name)")[
                        .ownerAccountID
                    ]
                    #expect(owner as? UInt32 == Self.user, "\(name)")
                }
                server.terminate()
                #expect(await server.status() == 0)
            }
        }

        @Test("the same sources give the same bytes")
        func reproducible() async throws {
            try await TestServer.inDirectory { directory in
                let archives = try await [Self.build("\(directory)/one"), Self.build("\(directory)/two")]
                let bytes = try archives.map { try Data(contentsOf: URL(filePath: $0)) }
                #expect(bytes[0] == bytes[1])
            }
        }
    }
}
