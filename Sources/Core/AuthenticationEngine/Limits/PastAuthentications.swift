import KeychainModel

/// When the user last authenticated at the prompts of each program: in memory only, so that it ends with the daemon.
///
/// It releases nothing: ``FactorReuse`` decides what a past finger is good for.
struct PastAuthentications: Sendable, Equatable {
    /// The most programs remembered; the one with the oldest authentication is forgotten first.
    static let programCount = 256

    private struct Kind: Hashable {
        let factor: AuthenticationFactor
        let isOfWeakSensor: Bool
    }

    private var times: [AccessGroup: [Kind: BootTime]] = [:]

    /// Remembers what was shown at a prompt that named a program.
    mutating func note(_ proof: AuthenticationProof, of program: AccessGroup) {
        for factor in proof.factors {
            let kind = Kind(factor: factor, isOfWeakSensor: factor == .biometry && proof.isOfWeakSensor)
            times[program, default: [:]][kind] = proof.time
        }
        guard times.count > Self.programCount else { return }
        let newest = times.mapValues { $0.values.map(\.nanoseconds).max() ?? 0 }
        if let oldest = newest.min(by: { $0.value < $1.value }) { times[oldest.key] = nil }
    }

    /// The last authentication of each kind at prompts of a program, or, for nil, of any program; the newest first.
    func last(of program: AccessGroup?, at now: BootTime) -> [PastAuthentication] {
        var last: [Kind: PastAuthentication] = [:]
        for (group, times) in times where program == nil || group == program {
            for (kind, time) in times {
                guard let age = now.since(time), age < last[kind]?.age ?? .seconds(Int64.max) else {
                    continue
                }
                last[kind] = PastAuthentication(
                    factor: kind.factor,
                    isOfWeakSensor: kind.isOfWeakSensor,
                    age: max(age, .zero),
                    group: group
                )
            }
        }
        return last.values.sorted { $0.age < $1.age }
    }
}
