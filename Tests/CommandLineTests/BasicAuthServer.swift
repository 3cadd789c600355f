import Foundation
import ScriptedDaemon
import TouchstoneTesting

/// An HTTP server on the loopback interface, using python3's library, that requires basic authentication.
struct BasicAuthServer: Sendable {
    static let python = "/usr/bin/python3"

    /// `127.0.0.1:PORT`.
    let address: String
    private let home: TemporaryHome
    private let server: StartedCommand

    /// `serve` is the body of a handler method that answers authenticated requests; `root` is the directory.
    private static func script(_ serve: String) -> String {
        #"""
        import base64, http.server, os, subprocess, sys
        root, user, password = sys.argv[1:4]

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                given = self.headers.get("Authorization", "")
                wanted = "Basic " + base64.b64encode((user + ":" + password).encode()).decode()
                with open(root + "/requests", "a") as log:
                    log.write(("right" if given == wanted else "wrong" if given else "none") + "\n")
                if given == wanted: return self.serve()
                self.send_response(401)
                self.send_header("WWW-Authenticate", 'Basic realm="test"')
                self.send_header("Content-Length", "0")
                self.end_headers()
            do_POST = do_GET
            def serve(self):

        """#
            + serve.split(separator: "\n").map { "        \($0)\n" }.joined()
                + #"""

                server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
                with open(root + "/port.new", "w") as file: file.write(str(server.server_port))
                os.rename(root + "/port.new", root + "/port")
                server.serve_forever()
                """#
    }

    /// Starts the server; `home` is its directory.
    init(in home: TemporaryHome, user: String, password: String, serve: String) async throws {
        self.home = home
        var run = CommandRun("-c", Self.script(serve), home.path, user, password, home: home)
        run.program = Self.python
        server = try run.start()
        let root = home.path
        let port = try await Deadline.wait(for: "the server's port") {
            try? String(contentsOfFile: root + "/port", encoding: .utf8)
        }
        address = "127.0.0.1:\(port)"
    }

    /// The credentials of each request so far: `none`, `wrong` or `right`.
    func requests() -> [String] {
        let text = (try? String(contentsOfFile: home.path + "/requests", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }
}
