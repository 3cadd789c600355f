import KeychainModel
import SecretMemory
import Testing

@testable import KeychainEngine

@Suite("An enrolled set whose templates are reported by another process")
struct UntoldSetTests {
    private let keychain = TestKeychain()
    private let control: AccessControl

    init() throws {
        control = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
    }

    /// The sensor as a daemon sees it that requests the templates' digest.
    fileprivate struct Sensor {
        /// A template for each finger.
        var templates: [String: UInt8] = ["left-index": 1, "right-index": 2]
        /// Enrolments that a running daemon was notified of.
        var completions: UInt64 = 0

        func seen(_ isTold: Bool) -> Enrolment {
            let names = templates.keys.sorted()
            return Enrolment(
                device: "sensor",
                fingers: names,
                templates: isTold ? .digest(names.map { templates[$0] ?? 0 }) : .untold,
                completions: completions
            )
        }

        /// The enrolment where templates cannot be read at all.
        var named: Enrolment {
            Enrolment(
                device: "sensor",
                fingers: Array(templates.keys),
                templates: .unreadable,
                completions: completions
            )
        }
    }

    /// A change of the enrolled fingers.
    enum Deed: CaseIterable, Sendable {
        case nothing, replace, add, delete, deleteAndAddAgain

        fileprivate func `do`(_ sensor: inout Sensor, heard: Bool) {
            switch self {
            case .nothing: return
            case .replace, .deleteAndAddAgain: sensor.templates["left-index"] = 9
            case .add: sensor.templates["left-thumb"] = 9
            case .delete: sensor.templates["left-index"] = nil
            }
            if self != .delete, heard { sensor.completions += 1 }
        }
    }

    /// The daemon's state during the change.
    enum Time: CaseIterable, Sendable {
        case running, locked, stopped, restartedSince
    }

    /// Whether the templates are reported at the following observations.
    enum Teller: CaseIterable, Sendable {
        case there, away, awayAndBack
    }

    private func open(_ engine: KeychainEngine?) async -> Result<String, KeychainError> {
        do {
            guard let engine else { throw KeychainError(.notAvailable) }
            let secret = try await engine.secret("set", proofs: [Proofs.of(control, [.biometry])])
            return secret.map(Result.success) ?? .failure(KeychainError(.itemNotFound))
        } catch {
            return .failure(error as? KeychainError ?? KeychainError(.internalComponent))
        }
    }

    @Test(
        "bound items are invalidated only when a different set is reported, and do not open before that",
        arguments: Deed.allCases,
        Time.allCases
    )
    func matrix(deed: Deed, time: Time) async throws {
        for teller in Teller.allCases {
            let cell = Comment(rawValue: "\(deed), \(time), \(teller)")
            let keychain = TestKeychain()
            var sensor = Sensor()
            var (engine, _): (KeychainEngine?, PasscodeKey?) =
                try await keychain.setUp(enrolled: sensor.seen(true))
            func restart() async throws {
                try await keychain.restart(&engine)
                sensor.completions = 0
            }
            #expect(try await engine?.observe(sensor.seen(true)).changed == false, cell)
            try await engine?.add("set", "secret", control)
            try await engine?.add("plain", "other")
            if time == .locked { await engine?.lock() }
            if time == .stopped {
                await engine?.close()
                engine = nil
            }
            deed.do(&sensor, heard: time == .running || time == .locked)
            if time == .stopped {
                sensor.completions = 0
                engine = try await keychain.restart()
            }
            if time == .restartedSince { try await restart() }
            if teller != .there {
                for _ in 1...2 {
                    let seen = try await engine?.observe(sensor.seen(false))
                    #expect(seen == EnrolmentObservation(domainState: nil, changed: false, binding: .untold))
                }
                if time == .locked { _ = try await engine?.key(TestKeychain.passcode) }
                guard case .failure(let refusal) = await open(engine) else {
                    Issue.record("it opened")
                    continue
                }
                #expect(refusal.authentication?.code == .biometryNotAvailable, cell)
                #expect(refusal.cause == .brokerAway, cell)
                #expect(!keychain.audit.kinds.contains(.enrolmentChanged), cell)
                #expect(!keychain.audit.kinds.contains(.itemsInvalidated), cell)
                // A lock and an unlock do not change that.
                await engine?.lock()
                _ = try await engine?.key(TestKeychain.passcode)
                guard case .failure(let again) = await open(engine) else {
                    Issue.record("it opened")
                    continue
                }
                #expect(again.cause == .brokerAway, cell)
                #expect(try await engine?.secret("plain") == "other", cell)
            }
            guard teller != .away else { continue }
            let changes = deed != .nothing
            #expect(try await engine?.observe(sensor.seen(true)).changed == changes, cell)
            if time == .locked { _ = try await engine?.key(TestKeychain.passcode) }
            switch await open(engine) {
            case .success(let secret): #expect(secret == "secret" && !changes, cell)
            case .failure(let error): #expect(changes && error.cause == .invalidated, cell)
            }
            #expect(keychain.audit.kinds.contains(.enrolmentChanged) == changes, cell)
            // It stays so.
            try await restart()
            #expect(try await engine?.observe(sensor.seen(true)).changed == false, cell)
            if case .success = await open(engine) { #expect(!changes, cell) } else { #expect(changes, cell) }
            #expect(try await engine?.secret("plain") == "other", cell)
        }
    }

    @Test("nothing new is bound to an unreported set, and an item's alternative constraint still works")
    func refusals() async throws {
        let sensor = Sensor()
        let (engine, passcode) = try await keychain.setUp(enrolled: sensor.seen(true))
        let either = try AccessControl(
            accessibility: .whenUnlocked,
            flags: [.biometryCurrentSet, .or, .devicePasscode]
        )
        let keyRule = try AccessControl(
            accessibility: .whenUnlocked,
            flags: [.biometryCurrentSet, .privateKeyUsage]
        )
        let any = try AccessControl(accessibility: .whenUnlocked, flags: .biometryAny)
        _ = try await engine.observe(sensor.seen(true))
        try await engine.add("either", "secret", either)
        try await engine.add("any", "secret", any)
        let key = try await engine.makeKey([.biometryCurrentSet, .privateKeyUsage])
        let sign = [Proofs.of(key.accessControl, [.biometry], operation: .useKeySign)]
        #expect(try key.signed(try await engine.result(key, proofs: sign)))
        _ = try await engine.observe(sensor.seen(false))
        func cause(_ body: () async throws -> Void) async -> DriverCause? {
            do {
                try await body()
                return nil
            } catch {
                return (error as? KeychainError)?.cause
            }
        }
        #expect(await cause { try await engine.add("new", "secret", control) } == .brokerAway)
        #expect(
            await cause { _ = try await engine.makeKey(keyRule, group: .ours, applicationPassword: nil) }
                == .brokerAway
        )
        #expect(await cause { _ = try await engine.result(key, proofs: sign) } == .brokerAway)
        let finger = Proofs.of(either, [.biometry])
        #expect(await cause { _ = try await engine.secret("either", proofs: [finger]) } == .brokerAway)
        let typed = Proofs.of(either, [.passcode], key: passcode)
        #expect(try await engine.secret("either", proofs: [typed]) == "secret")
        #expect(try await engine.secret("any", proofs: [Proofs.of(any, [.biometry])]) == "secret")
        _ = try await engine.observe(sensor.seen(true))
        #expect(try await engine.secret("either", proofs: [finger]) == "secret")
        #expect(try key.signed(try await engine.result(key, proofs: sign)))
    }

    @Test("templates are adopted while the names are unchanged, and compared from then on")
    func adopted() async throws {
        var sensor = Sensor()
        var (engine, _): (KeychainEngine?, PasscodeKey?) = try await keychain.setUp(enrolled: sensor.named)
        let before = try await engine?.observe(sensor.named)
        try await engine?.add("set", "secret", control)
        // A restart in another mode: templates are not reported at first, so nothing is adopted.
        try await keychain.restart(&engine)
        #expect(try await engine?.observe(sensor.seen(false)).changed == false)
        let first = try await engine?.observe(sensor.seen(true))
        #expect(first?.changed == false && first?.binding == .templates)
        #expect(first?.domainState == before?.domainState)
        #expect(await open(engine) == .success("secret"))
        try await keychain.restart(&engine)
        #expect(try await engine?.observe(sensor.seen(true)).changed == false)
        #expect(await open(engine) == .success("secret"))
        #expect(!keychain.audit.kinds.contains(.enrolmentChanged))
        sensor.templates["left-index"] = 9
        #expect(try await engine?.observe(sensor.seen(true)).changed == true)
        #expect(await open(engine) == .failure(KeychainError(.itemNotFound)))
        // Names alone restore nothing.
        #expect(try await engine?.observe(sensor.named).changed == false)
        #expect(await open(engine) == .failure(KeychainError(.itemNotFound)))
    }

    @Test(
        "the set is invalidated if the fingers changed before the templates were reported",
        arguments: [true, false]
    )
    func notAdopted(isHeard: Bool) async throws {
        var sensor = Sensor()
        let (engine, _) = try await keychain.setUp(enrolled: sensor.named)
        _ = try await engine.observe(sensor.named)
        try await engine.add("set", "secret", control)
        if isHeard {
            // The same names, but an enrolment was notified while the templates were not reported.
            _ = try await engine.observe(sensor.seen(false))
            sensor.templates["left-index"] = 9
            sensor.completions = 1
            _ = try await engine.observe(sensor.seen(false))
        } else {
            sensor.templates["left-thumb"] = 9
        }
        #expect(try await engine.observe(sensor.seen(true)).changed)
        #expect(await open(engine) == .failure(KeychainError(.itemNotFound)))
    }

    @Test("templates may be first reported at set-up or later without a change")
    func setUp() async throws {
        let sensor = Sensor()
        let (engine, _) = try await keychain.setUp(enrolled: sensor.seen(false))
        #expect(try await engine.observe(sensor.seen(false)).changed == false)
        #expect(try await engine.observe(sensor.seen(true)).changed == false)
        try await engine.add("set", "secret", control)
        #expect(await open(engine) == .success("secret"))
    }

    @Test("the set is empty if fprintd lists no finger, whether or not templates are reported")
    func empty() async throws {
        var sensor = Sensor()
        let (engine, _) = try await keychain.setUp(enrolled: sensor.seen(true))
        try await engine.add("set", "secret", control)
        sensor.templates = [:]
        #expect(try await engine.observe(sensor.seen(false)).changed)
        #expect(await open(engine) == .failure(KeychainError(.itemNotFound)))
        #expect(try await engine.observe(sensor.seen(true)).changed == false)
    }
}
