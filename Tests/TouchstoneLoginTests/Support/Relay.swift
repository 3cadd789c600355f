import CLinux
import Foundation
import Glibc
import LoopbackHTTP
import SecretMemory
import TouchstoneTesting

/// A TCP relay that forwards requests to a server, and alters them as a test says.
final class Relay: Sendable {
    /// What the relay does with a request.
    enum Deed: Sendable {
        /// Forwards request and response.
        case pass
        /// Closes the connection without forwarding the request.
        case cut
        /// Forwards the request, and drops the response.
        case loseAnswer
        /// Neither forwards nor responds.
        case hang
        /// Forwards the request, and does not respond.
        case hangAfter
        /// Sends a byte every 100 ms, without end.
        case drip
        /// Sends this response without forwarding the request.
        case answer(Int, [String: String] = ["Content-Type": "application/json"], String)
        /// Sends these bytes without forwarding the request.
        case bytes([UInt8])
        /// Forwards the request, and changes the response's content.
        case change(@Sendable (String) -> String)
    }

    /// A request, and the server's response.
    struct Exchange: Sendable {
        let method: String
        let path: String
        let headers: [String: String]
        let body: String
        var answer: String?
    }

    private struct State {
        var script: @Sendable (Exchange) -> Deed = { _ in .pass }
        var exchanges: [Exchange] = []
        var server: LoopbackHTTP?
        var isOver = false
    }

    let port: UInt16
    var url: URL { URL(string: "http://localhost:\(port)") ?? URL(filePath: "/") }
    private let descriptor: CInt
    private let state = Guarded(State())

    init() throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isListening = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, length) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, address, &length) == 0
            }
        }
        guard isListening else { throw TestKitError.unexpected("the relay cannot listen") }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [state] in Self.serve(descriptor, state) }
    }

    deinit {
        state.withLock { $0.isOver = true }
        shutdown(descriptor, CInt(SHUT_RDWR))
    }

    /// Sets the server to forward to.
    func stand(before server: LoopbackHTTP) { state.withLock { $0.server = server } }

    /// Sets what happens to requests from now on.
    func script(_ script: @escaping @Sendable (Exchange) -> Deed) { state.withLock { $0.script = script } }

    /// Sets what happens to requests of one method and path; all others pass.
    func script(_ method: String, _ path: String, _ deed: Deed) {
        script { $0.method == method && $0.path == path ? deed : .pass }
    }

    /// Lets all requests pass.
    func passAll() { script { _ in .pass } }

    /// The requests received, in order; `answer` is set once the server has responded.
    var exchanges: [Exchange] { state.withLock(\.exchanges) }

    // MARK: Connections

    private static func serve(_ descriptor: CInt, _ state: Guarded<State>) {
        while true {
            let connection = clinux_accept(descriptor)
            if connection < 0, errno == EINTR || errno == ECONNABORTED { continue }
            // Without a free descriptor accept(2) is retried, unless the relay is stopped.
            if connection < 0, !state.withLock(\.isOver) {
                usleep(1000)
                continue
            }
            guard connection >= 0 else { break }
            Thread.detachNewThread {
                answer(connection, state)
                // Half-closes, so that what was written arrives.
                shutdown(connection, CInt(SHUT_WR))
                close(connection)
            }
        }
        close(descriptor)
    }

    private static func answer(_ connection: CInt, _ state: Guarded<State>) {
        guard let request = readRequest(connection) else { return }
        let (script, server, number) = state.withLock { state in
            state.exchanges.append(request)
            return (state.script, state.server, state.exchanges.count - 1)
        }
        let deed = script(request)
        func ask() -> LoopbackHTTP.Answer? {
            let answer = try? server?.send(
                request.method,
                request.path,
                headers: request.headers.filter {
                    !["host", "connection", "content-length"].contains($0.key)
                },
                body: Array(request.body.utf8)
            )
            state.withLock {
                $0.exchanges[number].answer = answer.map { String(decoding: $0.body, as: UTF8.self) }
            }
            return answer
        }
        switch deed {
        case .pass:
            guard let answer = ask() else { return }
            send(answer.status, answer.headers, answer.body, connection)
        case .cut: break
        case .loseAnswer: _ = ask()
        case .hang: waitForEnd(connection, state)
        case .hangAfter:
            _ = ask()
            waitForEnd(connection, state)
        case .drip:
            var rest = Array("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n".utf8)[...]
            while write([rest.popFirst() ?? 0x20], connection), !state.withLock(\.isOver) { usleep(100_000) }
        case .answer(let status, let headers, let body): send(status, headers, Array(body.utf8), connection)
        case .bytes(let bytes): _ = write(bytes, connection)
        case .change(let change):
            guard let answer = ask() else { return }
            let body = change(String(decoding: answer.body, as: UTF8.self))
            send(answer.status, answer.headers, Array(body.utf8), connection)
        }
    }

    private static func send(
        _ status: Int,
        _ headers: [String: String],
        _ body: [UInt8],
        _ connection: CInt
    ) {
        var head = "HTTP/1.1 \(status) Status\r\nConnection: close\r\n"
        for (name, value) in headers where !["content-length", "connection"].contains(name.lowercased()) {
            head += "\(name): \(value)\r\n"
        }
        if status != 204 { head += "Content-Length: \(body.count)\r\n" }
        _ = write(Array((head + "\r\n").utf8) + body, connection)
    }

    /// Waits until the client hangs up.
    private static func waitForEnd(_ connection: CInt, _ state: Guarded<State>) {
        while !state.withLock(\.isOver) {
            var waited = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            guard poll(&waited, 1, 100) > 0 else { continue }
            var byte: UInt8 = 0
            if recv(connection, &byte, 1, 0) <= 0 { return }
        }
    }

    private static func readRequest(_ connection: CInt) -> Exchange? {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 65536)
        while true {
            if let request = parse(bytes) { return request }
            let count = recv(connection, &part, part.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return nil }
            bytes += part[..<count]
            // A TLS handshake is answered with 400, as web servers do.
            if bytes.first == 0x16 {
                send(400, [:], [], connection)
                return nil
            }
        }
    }

    /// Parses a complete request; nil if it is incomplete.
    private static func parse(_ bytes: [UInt8]) -> Exchange? {
        guard let end = Data(bytes).range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let words = lines[0].split(separator: " ")
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = parts.last.map { String($0.drop { $0 == " " }) }
        }
        let body = bytes[end.upperBound...]
        guard words.count == 3, body.count >= headers["content-length"].flatMap({ Int($0) }) ?? 0 else {
            return nil
        }
        return Exchange(
            method: String(words[0]),
            path: String(words[1]),
            headers: headers,
            body: String(decoding: body, as: UTF8.self)
        )
    }

    private static func write(_ bytes: [UInt8], _ connection: CInt) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(connection, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}
