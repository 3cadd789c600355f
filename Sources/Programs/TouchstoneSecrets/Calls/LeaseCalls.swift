import KeychainModel
import MessageBus

/// The methods of `touchstone.Leases`, for `touchstone lease`: which gestures count now, and ending them; and for `touchstone protect`, whose
/// rule counts once it has returned.
///
/// Every program of the user may call them: they tell no more than the labels, which it can list too, and take away only what the user
/// can give again.
extension SecretsClient {
    func answerLeases(_ call: Call) throws(BusFault) -> [BusValue] {
        switch (call.member, call.arguments.first, call.arguments.count) {
        case ("List", nil, 0):
            let leases = shared.grants.all(shared.index.locks).map { grant in
                let seconds = (grant.end - .now).components.seconds
                return BusValue.structure([
                    .uint64(grant.number), .uint32(UInt32(clamping: grant.process)),
                    .string(NameOwner.name(of: grant.process)), .string(grant.label),
                    .uint32(UInt32(clamping: seconds + 1)),
                    // 0 for any number.
                    .uint32(UInt32(clamping: grant.reads ?? 0)),
                ])
            }
            return [.array(of: "(tussuu)", leases)]
        case ("End", .uint64(let number)?, 1):
            // 0 for all.
            let ended = shared.grants.end { _, grant in number == 0 || grant.number == number }
            return [.uint32(UInt32(clamping: ended))]
        case ("Refresh", nil, 0):
            shared.index.empty()
            return []
        case ("List", _, _), ("End", _, _), ("Refresh", _, _): throw .wrongArguments(call)
        default: throw .unknownMethod(call.member)
        }
    }
}
