import CBOR
import KeychainModel

/// The encoded access control that items are bound to.
enum AccessControlTarget: FuzzTarget {
    static let name = "access-control"

    static func run(_ input: Span<UInt8>) {
        guard let control = try? AccessControl(decoding: input.array) else { return }
        require(control.encoded == input.array, "an access control has one encoding")
        do throws(AuthenticationError) {
            let isFree = try control.requirement() == nil
            require(isFree == control.constraints.isEmpty, "constraints are never met by nothing")
        } catch {
            require(control.constraints.contains(.companion), "only a companion is never here")
        }
        for operation in AccessOperation.allCases {
            let decision = control.decide(given: [], operation: operation)
            require((decision == .granted) == control.constraints.isEmpty, "no proof opens no constraint")
        }
        let everything = control.satisfied(by: [.biometry, .passcode])
        require(
            everything.isSuperset(of: control.constraints.filter { $0 != .companion }),
            "all factors meet all"
        )
        require(control.satisfied(by: []).isEmpty, "no factor meets nothing")
    }

    static func seeds() -> [[UInt8]] {
        let single: [AccessControlFlags] = [
            [], .userPresence, .biometryAny, .biometryCurrentSet, .devicePasscode, .companion,
            .applicationPassword,
            .privateKeyUsage, [.biometryAny, .devicePasscode, .or],
            [.biometryCurrentSet, .devicePasscode, .and],
            [.userPresence, .applicationPassword], [.companion, .biometryAny, .or], [.or, .and],
        ]
        var seeds: [[UInt8]] = []
        for accessibility in Accessibility.allCases {
            for flags in single { seeds.append(encoding(1, accessibility.rawValue, flags.rawValue)) }
        }
        seeds.append(encoding(2, "ak", 1))
        seeds.append(encoding(1, "", 1))
        seeds.append(encoding(1, "ak", .max))
        return seeds + damaged(encoding(1, "akpu", 1 << 31))
    }

    private static func encoding(_ version: UInt64, _ accessibility: String, _ flags: UInt64) -> [UInt8] {
        cbor { writer in
            writer.writeArrayHead(count: 3)
            writer.write(unsigned: version)
            writer.write(text: accessibility)
            writer.write(unsigned: flags)
        }
    }
}
