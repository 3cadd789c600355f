internal import Synchronization

/// The proofs of the last minutes, each of which is accepted once (RFC 9449, section 11.1) by this process.
final class SeenProofs: Sendable {
    /// The most proofs that are kept: 100,000 within the two minutes that a proof can be valid.
    private static let most = 100_000

    enum Verdict { case new, seen, full }

    private let ends = Mutex<(proofs: [[UInt8]: Int64], sweptAt: Int64)>(([:], 0))

    /// Keeps a proof until its time, in seconds since 1970.
    func take(_ digest: [UInt8], until end: Int64, now: Int64) -> Verdict {
        ends.withLock { ends in
            if ends.sweptAt + 10 <= now || ends.proofs.count >= Self.most {
                ends.proofs = ends.proofs.filter { $0.value >= now }
                ends.sweptAt = now
            }
            guard ends.proofs[digest] == nil else { return .seen }
            guard ends.proofs.count < Self.most else { return .full }
            ends.proofs[digest] = end
            return .new
        }
    }
}
