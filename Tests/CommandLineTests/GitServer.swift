import Foundation
import ScriptedDaemon
import TouchstoneTesting

/// A git server on the loopback interface that requires basic authentication.
///
/// Runs git-http-backend(1) as a CGI program.
struct GitServer: Sendable {
    static let user = "alice"
    static let password = "p=1 ü:x"

    static let isPossible = ["/usr/bin/git", "/usr/lib/git-core/git-http-backend", BasicAuthServer.python]
        .allSatisfy(Programs.isBuilt)

    /// Another path of the repository's directory, longer than any name of a secret.
    static let longPath = Array(repeating: String(repeating: "d", count: 100), count: 3).joined(
        separator: "/"
    )

    /// `http://127.0.0.1:PORT`.
    let address: String
    private let server: BasicAuthServer

    /// The CGI handler for git-http-backend(1).
    private static let serve = #"""
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        environment = {
            "GIT_PROJECT_ROOT": root, "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path,
            "QUERY_STRING": query, "REQUEST_METHOD": self.command, "REMOTE_USER": user,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""), "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
            "HTTP_GIT_PROTOCOL": self.headers.get("Git-Protocol", ""), "PATH": "/usr/bin:/bin",
            "HOME": root, "GIT_CONFIG_NOSYSTEM": "1",
        }
        answer = subprocess.run(
            ["/usr/lib/git-core/git-http-backend"], input=body, env=environment, stdout=subprocess.PIPE
        ).stdout
        head, _, content = answer.partition(b"\r\n\r\n")
        fields = [line.partition(": ")[::2] for line in head.decode().split("\r\n")]
        self.send_response(int(dict(fields).get("Status", "200").split()[0]))
        for name, value in fields:
            if name != "Status": self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        """#

    /// Creates a repository, `project.git`, with one commit of one file, and serves it.
    init() async throws {
        let home = try TemporaryHome()
        var make = CommandRun("-ec", home: home)
        make.program = "/bin/sh"
        make.arguments.append(
            """
            cd "$TOUCHSTONE_HOME"
            git init -q --initial-branch=main work && echo "of the server" > work/file && git -C work add file
            git -C work -c user.name=T -c user.email=t@example.org commit -qm first
            git clone -q --bare work project.git && git -C project.git config http.receivepack true
            mkdir -p "\(Self.longPath)" && mv project.git "\(Self.longPath)" && ln -s "\(Self.longPath)/project.git" .
            """
        )
        make.environment = ["HOME": home.path, "GIT_CONFIG_NOSYSTEM": "1"]
        let made = try await make.run()
        guard made.status == 0 else { throw TestKitError.unexpected(made.errors) }
        server = try await BasicAuthServer(
            in: home,
            user: Self.user,
            password: Self.password,
            serve: Self.serve
        )
        address = "http://\(server.address)"
    }

    /// The credentials of each request so far: `none`, `wrong` or `right`.
    func requests() -> [String] { server.requests() }
}
