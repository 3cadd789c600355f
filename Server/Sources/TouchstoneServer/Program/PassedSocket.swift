internal import Glibc
internal import NIOCore

/// A listening socket that the service manager passed: sd_listen_fds(3).
public struct PassedSocket: Sendable {
    /// The descriptor.
    let descriptor: CInt
    /// The address at which it listens.
    public let address: ListenAddress

    /// Checks a descriptor, which is closed in programs that this one starts.
    ///
    /// - Throws: ``StartError`` when it is no listening TCP socket.
    init(_ descriptor: CInt, name: String) throws(StartError) {
        func option(_ option: CInt) -> CInt? {
            var value: CInt = 0
            var length = socklen_t(MemoryLayout<CInt>.size)
            return getsockopt(descriptor, SOL_SOCKET, option, &value, &length) == 0 ? value : nil
        }
        guard option(SO_ACCEPTCONN) == 1, option(SO_TYPE) == CInt(SOCK_STREAM.rawValue),
            let address = Self.address(of: descriptor)
        else {
            throw StartError(
                .configuration,
                "the passed socket \(name) is no listening TCP socket: set ListenStream=ADDRESS:PORT in its unit"
            )
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        self.descriptor = descriptor
        self.address = address
    }

    private static func address(of descriptor: CInt) -> ListenAddress? {
        var storage = sockaddr_storage()
        var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
        let address = withUnsafeMutablePointer(to: &storage) { pointer -> SocketAddress? in
            let raw = UnsafeMutableRawPointer(pointer)
            guard getsockname(descriptor, raw.assumingMemoryBound(to: sockaddr.self), &length) == 0 else {
                return nil
            }
            switch CInt(pointer.pointee.ss_family) {
            case AF_INET: return SocketAddress(raw.load(as: sockaddr_in.self))
            case AF_INET6: return SocketAddress(raw.load(as: sockaddr_in6.self))
            default: return nil
            }
        }
        guard let host = address?.ipAddress, let port = address?.port else { return nil }
        return ListenAddress(host: host, port: port)
    }
}

/// The sockets that the service manager passed, by the names in their units (`FileDescriptorName=`).
public struct PassedSockets: Sendable {
    /// The API's, named `http`, in the place of the setting `listen`; nil: not passed.
    public private(set) var http: PassedSocket?
    /// The administrators', named `admin`, in the place of the setting `admin-listen`; nil: not passed.
    public private(set) var admin: PassedSocket?

    /// No sockets.
    public static let none = PassedSockets()

    /// `SD_LISTEN_FDS_START`.
    private static let first: CInt = 3

    private init() {}

    /// Takes the sockets that the environment names; none when the variables are for another process.
    ///
    /// - Throws: ``StartError`` for a socket with another name, or one that is no listening TCP socket.
    public init(environment: [String: String]) throws(StartError) {
        guard environment["LISTEN_PID"].flatMap({ pid_t($0) }) == getpid(),
            let text = environment["LISTEN_FDS"], text != "0"
        else { return }
        let names = (environment["LISTEN_FDNAMES"] ?? "").split(
            separator: ":",
            omittingEmptySubsequences: false
        ).map(String.init)
        guard let count = Int(text), count == names.count, Set(names).count == count,
            names.allSatisfy({ ["http", "admin"].contains($0) })
        else {
            throw StartError(
                .configuration,
                "\(LogEscapes.text(text)) sockets were passed with the names "
                    + "\"\(LogEscapes.text(names.joined(separator: ", ")))\": a socket's unit needs "
                    + "FileDescriptorName=http or FileDescriptorName=admin and one ListenStream="
            )
        }
        for (index, name) in names.enumerated() {
            let socket = try PassedSocket(Self.first + CInt(index), name: name)
            if name == "http" { http = socket } else { admin = socket }
        }
    }

    /// Checks that the administrators' socket is one at which tokens cannot be read on the way.
    ///
    /// - Throws: ``ConfigurationFault``.
    func check(_ configuration: ServerConfiguration) throws(ConfigurationFault) {
        guard let address = admin?.address else { return }
        var settings = configuration
        settings.adminListen = address
        try settings.checkTogether()
    }
}
