import KeychainModel
import MessageBus

@testable import FingerprintDriver

/// Input from fprintd over the bus: error names, signals, and their order during a verification.
enum FprintTarget: FuzzTarget {
    static let name = "fprint"

    static func run(_ input: Span<UInt8>) {
        var choices = Choices(input)
        var pass = VerifyPass()
        var hasStarted = false
        var hasEnded = false
        while !choices.isAtEnd {
            switch choices.octet() % 8 {
            case 0:
                let prefix = choices.element(of: prefixes)
                runError(name: prefix + choices.element(of: errors) + choices.text(), message: choices.text())
            case 1: _ = FingerprintError(.system(errno: CInt(truncatingIfNeeded: choices.number())))
            case 2:
                pass.started()
                if !hasEnded { hasStarted = true }
            case 3 where choices.octet() == 0:
                pass.end()
                hasEnded = true
            default:
                guard let signal = signal(&choices) else { continue }
                let step = pass.receive(signal.kind)
                if step != nil {
                    require(hasStarted && !hasEnded, "nothing counts outside of the verification")
                }
                guard case .end(let result)? = step else { continue }
                hasEnded = true
                guard case .success(.match) = result else { continue }
                require(isStatus(signal.kind, "verify-match"), "only verify-match is a match")
            }
        }
    }

    private static func isStatus(_ kind: DeviceSignal.Kind, _ result: String) -> Bool {
        guard case .verifyStatus(let text, _) = kind else { return false }
        return Array(text.utf8) == Array(result.utf8)
    }

    private static func runError(name: String, message: String) {
        let error = FingerprintError(.remote(name: name, message: message))
        require(error.message == "\(name): \(message)", "the bus's own words are kept")
        require(error.code != .cancelled || name.hasSuffix("Cancelled"), "no answer cancels")
        _ = error.cause
    }

    private static func signal(_ choices: inout Choices) -> DeviceSignal? {
        let interface = choices.element(of: interfaces)
        let member = choices.element(of: members)
        let arguments = (0..<Int(choices.octet() % 4)).map { _ in value(&choices, depth: 0) }
        return DeviceSignal(
            owner: ":1.8",
            path: "/d",
            interface: interface,
            member: member,
            arguments: arguments
        )
    }

    private static func value(_ choices: inout Choices, depth: Int) -> BusValue {
        switch choices.octet() % (depth < 4 ? 12 : 7) {
        case 0: return .boolean(choices.octet() & 1 == 1)
        case 1, 2: return .string(choices.element(of: results))
        case 3: return .string(choices.text())
        case 4: return .uint32(UInt32(truncatingIfNeeded: choices.number()))
        case 5: return .objectPath(choices.text())
        case 6: return .double(Double(bitPattern: choices.number()))
        case 7: return .variant(value(&choices, depth: depth + 1))
        case 8: return .structure([value(&choices, depth: depth + 1)])
        case 9:
            return .array(
                of: "s",
                (0..<Int(choices.octet() % 4)).map { _ in value(&choices, depth: depth + 1) }
            )
        case 10: return .entry(.string(choices.text()), value(&choices, depth: depth + 1))
        default:
            let key = choices.octet() & 1 == 0 ? "finger-present" : choices.text()
            return .array(of: "{sv}", [.entry(.string(key), .variant(value(&choices, depth: depth + 1)))])
        }
    }

    private static let prefixes = [Fprint.errorPrefix, "org.freedesktop.DBus.Error.", ""]
    private static let errors = [
        "", "PermissionDenied", "ClaimDevice", "AlreadyInUse", "NoEnrolledPrints", "NoSuchDevice", "Internal",
        "ServiceUnknown", "NameHasNoOwner", "NoReply", "Timeout", "AccessDenied", "UnknownObject",
        "Disconnected",
        "Spawn.", "NoActionInProgress", "InvalidFingername",
    ]
    private static let interfaces = [Fprint.deviceInterface, propertiesInterface, Fprint.managerInterface]
    private static let members = [
        "VerifyStatus", "VerifyFingerSelected", "EnrollStatus", "PropertiesChanged", "Other",
    ]
    private static let results = [
        "verify-match", "verify-no-match", "verify-retry-scan", "verify-swipe-too-short",
        "verify-finger-not-centered",
        "verify-remove-and-retry", "verify-disconnected", "verify-unknown-error", "enroll-completed",
        "verify-Match",
        Fprint.deviceInterface, "any",
    ]

    static func seeds() -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for prefix in prefixes.indices {
            for error in errors.indices {
                seeds.append([0, UInt8(prefix), UInt8(error)] + [0, 4] + Array("text".utf8))
            }
        }
        for result in results.indices {
            for isDone in UInt8(0)...1 {
                // Start, VerifyStatus(result, done), and the same again.
                let status: [UInt8] = [4, 0, 0, 2, 1, UInt8(result), 0, isDone]
                seeds.append([2] + status + status)
                seeds.append(status + [2] + status)
            }
        }
        // PropertiesChanged(interface, {finger-present: true}, [])
        seeds.append([2, 4, 1, 3, 3, 1, 10, 11, 0, 0, 1, 9, 0])
        seeds.append([2, 4, 0, 1, 1, 3, 3, 0x61, 0x6E, 0x79])
        seeds.append([1, 0, 0, 0, 0, 0, 0, 0, 110])
        seeds.append([2, 3, 0, 4, 0, 0, 2, 1, 0, 0, 1])
        return seeds
    }
}
