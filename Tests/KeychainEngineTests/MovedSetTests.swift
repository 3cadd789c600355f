import KeychainModel
import SecretMemory
import Testing

@testable import KeychainEngine

@Suite("Enrolled set after a move between modes of which only one reads templates")
struct MovedSetTests {
    private let control: AccessControl

    init() throws {
        control = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
    }

    /// What a mode's daemon can read from the sensor.
    enum Sight: CaseIterable, Sendable { case names, templates }

    /// A change of the enrolled fingers.
    enum Deed: CaseIterable, Sendable { case nothing, replace, add, delete }

    /// When the change is made.
    enum Time: CaseIterable, Sendable {
        /// While the former mode's daemon is running and observes again.
        case before
        /// While no daemon is running.
        case between
        /// While the new mode's daemon is running, after its first observation.
        case after
    }

    private struct Sensor {
        var templates: [String: UInt8] = ["left-index": 1, "right-index": 2]
        var completions: UInt64 = 0

        mutating func take(_ deed: Deed, heard: Bool) {
            switch deed {
            case .nothing: return
            case .replace: templates["left-index"] = 9
            case .add: templates["left-thumb"] = 9
            case .delete: templates["left-index"] = nil
            }
            if heard, deed != .delete { completions += 1 }
        }

        func seen(_ sight: Sight) -> Enrolment {
            let names = templates.keys.sorted()
            return Enrolment(
                device: "sensor",
                fingers: names,
                templates: sight == .names ? .unreadable : .digest(names.map { templates[$0] ?? 0 }),
                completions: completions
            )
        }
    }

    private func opens(_ engine: KeychainEngine?) async throws -> Bool {
        guard let engine else { return false }
        do {
            return try await engine.secret("set", proofs: [Proofs.of(control, [.biometry])]) == "secret"
        } catch let error as KeychainError where error.cause == .invalidated {
            return false
        }
    }

    @Test(
        "the set remains valid after a move unless a change is visible to one of the modes",
        arguments: Sight.allCases,
        Sight.allCases
    )
    func matrix(from: Sight, to: Sight) async throws {
        for deed in Deed.allCases {
            for time in Time.allCases {
                let cell = Comment(rawValue: "\(from) to \(to), \(deed), \(time)")
                let keychain = TestKeychain()
                var sensor = Sensor()
                var (engine, _): (KeychainEngine?, PasscodeKey?) =
                    try await keychain.setUp(enrolled: sensor.seen(from))
                #expect(try await engine?.observe(sensor.seen(from)).changed == false, cell)
                try await engine?.add("set", "secret", control)
                try await engine?.add("plain", "other")
                if time == .before {
                    sensor.take(deed, heard: true)
                    let seen = try await engine?.observe(sensor.seen(from))
                    #expect(seen?.changed == (deed != .nothing), cell)
                }
                await engine?.close()
                engine = nil
                sensor.completions = 0
                if time == .between { sensor.take(deed, heard: false) }
                engine = try await keychain.restart()
                // A finger replaced under the same name is detected only by comparing templates.
                let isSeen =
                    switch deed {
                    case .nothing: false
                    case .replace: from == .templates && to == .templates
                    case .add, .delete: true
                    }
                let first = try await engine?.observe(sensor.seen(to))
                #expect(first?.changed == (time == .between && isSeen), cell)
                #expect(first?.binding == (to == .names ? .names : .templates), cell)
                if time == .after {
                    sensor.take(deed, heard: true)
                    let seen = try await engine?.observe(sensor.seen(to))
                    #expect(seen?.changed == (deed != .nothing), cell)
                }
                let lives = time == .between ? !isSeen : deed == .nothing
                #expect(try await opens(engine) == lives, cell)
                #expect(keychain.audit.kinds.contains(.itemsInvalidated) == !lives, cell)
                // It stays so in this mode.
                try await keychain.restart(&engine)
                sensor.completions = 0
                #expect(try await engine?.observe(sensor.seen(to)).changed == false, cell)
                #expect(try await opens(engine) == lives, cell)
                #expect(try await engine?.secret("plain") == "other", cell)
                await engine?.close()
                engine = nil
            }
        }
    }

    @Test(
        "the set is compared with the last templates read once templates are readable again",
        arguments: [Deed.nothing, .replace]
    )
    func thereAndBack(deed: Deed) async throws {
        let keychain = TestKeychain()
        var sensor = Sensor()
        var (engine, _): (KeychainEngine?, PasscodeKey?) =
            try await keychain.setUp(enrolled: sensor.seen(.templates))
        let state = try await engine?.observe(sensor.seen(.templates)).domainState
        try await engine?.add("set", "secret", control)
        try await keychain.restart(&engine)
        let named = try await engine?.observe(sensor.seen(.names))
        #expect(named?.changed == false && named?.domainState == state)
        #expect(try await opens(engine))
        try await keychain.restart(&engine)
        sensor.take(deed, heard: false)
        #expect(try await engine?.observe(sensor.seen(.names)).changed == false)
        #expect(try await opens(engine))
        try await keychain.restart(&engine)
        // The same names with another finger: detected now.
        let last = try await engine?.observe(sensor.seen(.templates))
        #expect(last?.changed == (deed == .replace))
        #expect((last?.domainState == state) == (deed == .nothing))
        #expect(try await opens(engine) == (deed == .nothing))
        await engine?.close()
    }

    @Test("with a version 2 keybag, which has no names, the set is invalidated on the way back")
    func secondVersion() async throws {
        let keychain = TestKeychain()
        let sensor = Sensor()
        var (engine, _): (KeychainEngine?, PasscodeKey?) =
            try await keychain.setUp(enrolled: sensor.seen(.templates))
        try await engine?.add("set", "secret", control)
        let record = try #require(await engine?.keybag.record)
        try engine?.forgetKeybag()
        await engine?.close()
        engine = nil
        try keychain.writeFormer(record, version: 2)
        engine = try await keychain.restart()
        #expect(try await engine?.observe(sensor.seen(.names)).changed == true)
        #expect(try await !opens(engine))
        await engine?.close()
        engine = nil
        // Observing the unchanged set once more stores the names.
        let other = TestKeychain()
        (engine, _) = try await other.setUp(enrolled: sensor.seen(.templates))
        try await engine?.add("set", "secret", control)
        let latter = try #require(await engine?.keybag.record)
        try engine?.forgetKeybag()
        await engine?.close()
        engine = nil
        try other.writeFormer(latter, version: 2)
        engine = try await other.restart()
        #expect(try await engine?.observe(sensor.seen(.templates)).changed == false)
        #expect(try await engine?.observe(sensor.seen(.names)).changed == false)
        #expect(try await opens(engine))
        await engine?.close()
    }
}
