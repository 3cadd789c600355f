import Foundation
import Glibc
import ScriptedDaemon
import TouchstoneTesting

/// A server of git repositories on the loopback interface, which lets nobody in without a user's name and password.
///
/// HTTP is spoken by python3's library, git by git-http-backend(1), of which this is the CGI server.
struct GitServer: Sendable {
    static let user = "alice"
    static let password = "p=1 ü:x"

    static let isPossible = ["/usr/bin/git", "/usr/lib/git-core/git-http-backend", "/usr/bin/python3"]
        .allSatisfy(Programs.isBuilt)

    /// `http://127.0.0.1:PORT`.
    let address: String
    private let home: TemporaryHome
    private let server: StartedCommand

    private static let script = #"""
        import base64, http.server, os, subprocess, sys
        root, user, password = sys.argv[1:4]

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                path, _, query = self.path.partition("?")
                given = self.headers.get("Authorization", "")
                wanted = "Basic " + base64.b64encode((user + ":" + password).encode()).decode()
                with open(root + "/requests", "a") as log:
                    log.write(("right" if given == wanted else "wrong" if given else "none") + "\n")
                if given != wanted:
                    self.send_response(401)
                    self.send_header("WWW-Authenticate", 'Basic realm="git"')
                    self.send_header("Content-Length", "0")
                    return self.end_headers()
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
            do_POST = do_GET

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        with open(root + "/port.new", "w") as file: file.write(str(server.server_port))
        os.rename(root + "/port.new", root + "/port")
        server.serve_forever()
        """#

    /// Makes a repository, `project.git`, with one commit of one file, and serves it.
    init() async throws {
        home = try TemporaryHome()
        var make = CommandRun("-ec", home: home)
        make.program = "/bin/sh"
        make.arguments.append(
            """
            cd "$TOUCHSTONE_HOME"
            git init -q --initial-branch=main work && echo "of the server" > work/file && git -C work add file
            git -C work -c user.name=T -c user.email=t@example.org commit -qm first
            git clone -q --bare work project.git && git -C project.git config http.receivepack true
            """
        )
        make.environment = ["HOME": home.path, "GIT_CONFIG_NOSYSTEM": "1"]
        let made = try await make.run()
        guard made.status == 0 else { throw TestKitError.unexpected(made.errors) }
        var run = CommandRun("-c", Self.script, home.path, Self.user, Self.password, home: home)
        run.program = "/usr/bin/python3"
        server = try run.start()
        let root = home.path
        let port = try await Deadline.wait(for: "the server's port") {
            try? String(contentsOfFile: root + "/port", encoding: .utf8)
        }
        address = "http://127.0.0.1:\(port)"
    }

    /// What was shown with each request so far: `none`, `wrong` or `right`.
    func requests() -> [String] {
        let text = (try? String(contentsOfFile: home.path + "/requests", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }
}
