internal import Glibc

/// Requests to a server on this machine (RFC 9112), without TLS: for tests, the demo and the example.
///
/// Apps use their own HTTP library, with TLS. Each request has its own connection, which the server closes. Calls
/// block.
package struct LoopbackHTTP: Sendable {
    /// The server's port on 127.0.0.1.
    package let port: UInt16

    /// Creates a client of the server on a port.
    package init(port: UInt16) { self.port = port }

    /// A server's response.
    package struct Answer: Sendable {
        /// The status code.
        package let status: Int
        /// The header fields, with lowercase names.
        package let headers: [String: String]
        /// The content.
        package let body: [UInt8]
    }

    /// Why there is no response.
    package enum Failure: Error, Sendable, Equatable {
        /// A system call failed.
        case system(String, errno: Int32)
        /// The received bytes are not an HTTP/1.1 response.
        case malformed
    }

    /// The longest response that is read, in bytes.
    private static let longestAnswer = 4 << 20

    /// Sends a request and waits for the response, at most two minutes.
    ///
    /// - Throws: ``Failure``.
    package func send(
        _ method: String,
        _ path: String,
        headers: [String: String] = [:],
        body: [UInt8] = []
    ) throws(Failure) -> Answer {
        let descriptor = try connect()
        defer { close(descriptor) }
        var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost:\(port)\r\nConnection: close\r\n"
        for (name, value) in headers.sorted(by: { $0.key < $1.key }) { head += "\(name): \(value)\r\n" }
        head += "Content-Length: \(body.count)\r\n\r\n"
        try Self.write(Array(head.utf8) + body, to: descriptor)
        return try Self.answer(try Self.read(from: descriptor))
    }

    private func connect() throws(Failure) -> Int32 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .system("socket", errno: errno) }
        var patience = timeval(tv_sec: 120, tv_usec: 0)
        unsafe setsockopt(
            descriptor,
            SOL_SOCKET,
            SO_RCVTIMEO,
            &patience,
            socklen_t(MemoryLayout<timeval>.size)
        )
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe Glibc.connect(descriptor, address, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard status == 0 else {
            let failure = Failure.system("connect", errno: errno)
            close(descriptor)
            throw failure
        }
        return descriptor
    }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(Failure) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { bytes in
                unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw .system("send", errno: errno) }
            rest = rest.dropFirst(count)
        }
    }

    private static func read(from descriptor: Int32) throws(Failure) -> [UInt8] {
        var bytes: [UInt8] = []
        var part = [UInt8](repeating: 0, count: 16384)
        while bytes.count <= longestAnswer {
            let count = unsafe part.withUnsafeMutableBytes { part in
                unsafe recv(descriptor, part.baseAddress, part.count, 0)
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .system("recv", errno: errno) }
            guard count > 0 else { return bytes }
            bytes += part[..<count]
        }
        throw .malformed
    }

    /// Parses a response; its content ends at its length or at the end of the connection, and has no transfer coding.
    static func answer(_ bytes: [UInt8]) throws(Failure) -> Answer {
        let separator = Array("\r\n\r\n".utf8)
        guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: separator) }) else {
            throw .malformed
        }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n")
        let words = lines.first?.split(separator: " ", maxSplits: 2) ?? []
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]) else {
            throw .malformed
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { throw .malformed }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            headers[line[..<colon].lowercased()] = String(value)
        }
        guard headers["transfer-encoding"] == nil else { throw .malformed }
        let body = bytes[(end + separator.count)...]
        if let length = headers["content-length"] {
            guard Int(length) == body.count else { throw .malformed }
        }
        return Answer(status: status, headers: headers, body: Array(body))
    }
}
