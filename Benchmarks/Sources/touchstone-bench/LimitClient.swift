import Glibc

/// A connection to the limit daemon; the protocol is documented at the top of its source.
final class LimitClient {
    enum Operation: UInt8 {
        case add = 0x41
        case update = 0x55
        case delete = 0x44
        case get = 0x47
        case list = 0x4C
        case keys = 0x4D
    }

    private let socket: CInt
    private var reply: [UInt8] = []

    /// Connects.
    init(path: String) throws {
        socket = Glibc.socket(AF_UNIX, CInt(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: path.utf8) }
        let result = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe connect(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard result == 0 else {
            let reason = errno
            close(socket)
            throw BenchError("limit daemon: connect, errno \(reason)")
        }
    }

    deinit { close(socket) }

    /// Sends a request and waits for its reply.
    ///
    /// - Parameters:
    ///   - operation: the operation.
    ///   - number: the number of the row, from which its key is derived.
    ///   - value: the value to store; empty for none.
    /// - Returns: the number of bytes of the reply.
    /// - Throws: ``BenchError`` when the request was refused or the daemon has exited.
    @discardableResult
    func call(_ operation: Operation, _ number: Int = 0, value: [UInt8] = []) throws -> Int {
        let count = UInt32(17 + value.count)
        var request: [UInt8] = []
        request.reserveCapacity(4 + Int(count))
        unsafe withUnsafeBytes(of: count) { unsafe request.append(contentsOf: $0) }
        request.append(operation.rawValue)
        // Spread like a digest: sequential keys would make the limit's index faster than any keychain's.
        var key = Self.mixed(UInt64(number))
        unsafe withUnsafeBytes(of: key) { unsafe request.append(contentsOf: $0) }
        key = Self.mixed(key)
        unsafe withUnsafeBytes(of: key) { unsafe request.append(contentsOf: $0) }
        request += value
        guard unsafe send(socket, request, request.count, CInt(MSG_NOSIGNAL)) == request.count else {
            throw BenchError("limit daemon: send, errno \(errno)")
        }
        var length: UInt32 = 0
        try unsafe withUnsafeMutableBytes(of: &length) { room in
            try unsafe receive(UnsafeMutableRawBufferPointer(room))
        }
        if reply.count < Int(length) { reply = [UInt8](repeating: 0, count: Int(length)) }
        try unsafe reply.withUnsafeMutableBytes { room in
            try unsafe receive(UnsafeMutableRawBufferPointer(rebasing: room[..<Int(length)]))
        }
        switch operation {
        case .add, .update, .delete: guard reply[0] == 1 else { throw BenchError("limit daemon: refused") }
        case .get: guard length > 0 else { throw BenchError("limit daemon: no row \(number)") }
        case .list, .keys: break
        }
        return Int(length)
    }

    private func receive(_ room: UnsafeMutableRawBufferPointer) throws {
        var done = 0
        while done < room.count {
            let step = unsafe recv(socket, room.baseAddress.map { unsafe $0 + done }, room.count - done, 0)
            guard step > 0 else { throw BenchError("limit daemon: receive, errno \(errno)") }
            done += step
        }
    }

    /// The finaliser of SplitMix64, which is bijective.
    private static func mixed(_ number: UInt64) -> UInt64 {
        var value = number &+ 0x9E37_79B9_7F4A_7C15
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
