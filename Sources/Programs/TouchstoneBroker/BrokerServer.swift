import BrokerProtocol
import CLinux
import Glibc
import KeychainModel
import SystemFacts

/// Serves the daemons' account on one thread: each packet is answered when it is read, without waiting for anything.
struct BrokerServer {
    /// The maximum number of connections; further ones wait in the backlog.
    private static let most = 128
    /// How long a connection may stay silent, in milliseconds.
    private static let patience: Int64 = 2000

    private struct Peer {
        let socket: CInt
        /// The users that the peer may ask about, determined when it connected.
        let asker: Witness.Asker
        var deadline: Int64
    }

    private let listener: CInt
    private let account: UInt32
    /// Whether every process of the account may ask about any user.
    private let servesAllUsers: Bool
    private let witness: Witness
    private var peers: [Peer] = []

    init(listener: CInt, account: UInt32, servesAllUsers: Bool, witness: Witness) {
        self.listener = listener
        self.account = account
        self.servesAllUsers = servesAllUsers
        self.witness = witness
    }

    /// Serves until a signal ends the process.
    mutating func run() {
        while true {
            var descriptors = [
                pollfd(fd: peers.count < Self.most ? listener : -1, events: Int16(POLLIN), revents: 0)
            ]
            for peer in peers {
                descriptors.append(pollfd(fd: peer.socket, events: Int16(POLLIN), revents: 0))
            }
            let left = peers.map(\.deadline).min().map { max($0 - Self.now, 0) }
            _ = unsafe poll(&descriptors, nfds_t(descriptors.count), left.map { CInt($0 + 1) } ?? -1)
            let now = Self.now
            var kept: [Peer] = []
            for (peer, descriptor) in zip(peers, descriptors.dropFirst()) {
                var peer = peer
                if descriptor.revents != 0 {
                    peer.deadline = serve(peer) ? now + Self.patience : 0
                }
                if peer.deadline > now { kept.append(peer) } else { close(peer.socket) }
            }
            peers = kept
            if descriptors[0].revents != 0 { accept() }
        }
    }

    private mutating func accept() {
        let socket = clinux_accept(listener)
        guard socket >= 0 else {
            // Out of descriptors or memory: closing served connections frees some.
            if ![EAGAIN, ECONNABORTED, EINTR].contains(errno) { _ = poll(nil, 0, 10) }
            return
        }
        var peer = clinux_peer()
        guard unsafe clinux_peer_credentials(socket, &peer) == 0, peer.uid == account || peer.uid == 0
        else {
            close(socket)
            return
        }
        let asker = asker(at: socket, peer)
        peers.append(Peer(socket: socket, asker: asker, deadline: Self.now + Self.patience))
    }

    /// The users that the connected process may ask about: a daemon may ask about its own user, known by its unit.
    private func asker(at socket: CInt, _ peer: clinux_peer) -> Witness.Asker {
        if peer.uid == 0 || servesAllUsers { return .anybody }
        var handle = clinux_peer_pidfd(socket)
        if handle < 0 { handle = clinux_pidfd_open(peer.pid) }
        guard handle >= 0 else { return .nobody }
        defer { close(handle) }
        // The process ID belonged to the peer throughout only if the process still runs.
        guard let process = try? PinnedProcess(handle: handle),
            let owner = try? process.directory.daemonOwner(), process.isRunning
        else { return .nobody }
        return .user(owner)
    }

    /// Answers one packet; false if the connection must be closed.
    private func serve(_ peer: Peer) -> Bool {
        let socket = peer.socket
        var octets = [UInt8](repeating: 0, count: BrokerRequest.longest)
        var handle: CInt = -1
        let count = unsafe clinux_receive_packet(socket, &octets, octets.count, &handle)
        defer { if handle >= 0 { close(handle) } }
        guard count > 0, let request = BrokerRequest(packet: Array(octets[..<count])) else { return false }
        // If a look-up hangs, SIGALRM ends the process; the next request starts it again.
        alarm(5)
        defer { alarm(0) }
        guard let answer = witness.answer(request, handle: handle, to: peer.asker) else { return false }
        let reply = answer.reply.packet
        return withExtendedLifetime(answer.image) {
            unsafe clinux_send_packet(socket, reply, reply.count, answer.image?.descriptor ?? -1)
                == reply.count
        }
    }

    private static var now: Int64 {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}
