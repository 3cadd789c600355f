import KeychainModel
import Testing

@testable import KeychainEngine

/// What a store with damaged files tells and gives.
extension KeychainEngine {
    /// The values by account; empty if there are none.
    func values() async throws -> [String: String] {
        var found: [String: String] = [:]
        do {
            for item in try await all([.service: .string("tests")]) {
                if case .string(let account) = item.attributes?[.account] { found[account] = item.text }
            }
        } catch let error as KeychainError where error.status == .itemNotFound {}
        return found
    }

    /// Whether damage is told; expects all values to be right if it is not, and none to be wrong or absent if it is.
    func tellsDamage(to values: [String: String], _ what: Comment) async throws -> Bool {
        var isTold = false
        do {
            let found = try await self.values()
            #expect(found == values, what)
        } catch let error as KeychainError {
            #expect(error.status == .decode, what)
            isTold = true
        }
        for (account, value) in values {
            do {
                #expect(try await secret(account) == value, what)
            } catch let error as KeychainError {
                #expect(error.status == .decode, "\(what): \(account) looks absent")
                isTold = true
            }
        }
        return isTold
    }

    /// Whether a check finds damage.
    func checkTellsDamage() async -> Bool {
        let report = await check()
        return !report.isSetAuthentic || report.damaged > 0 || !report.faults.isEmpty
    }

    /// A proof by the passcode.
    func passcodeProof() async throws -> AuthenticationProof {
        let control = try AccessControl(accessibility: .whenUnlocked, flags: [.devicePasscode])
        return Proofs.of(control, [.passcode], key: try await key(TestKeychain.passcode))
    }
}
