import KeychainModel
import SecretMemory
import Testing

@testable import KeychainEngine

@Suite("A set of fingers in a keychain that moves between modes, one of which reads templates")
struct MovedSetTests {
    private let control: AccessControl

    init() throws {
        control = try AccessControl(accessibility: .whenUnlocked, flags: .biometryCurrentSet)
    }

    /// What a daemon of a mode sees of the sensor.
    enum Sight: CaseIterable, Sendable { case names, templates }

    /// What somebody does to the fingers.
    enum Deed: CaseIterable, Sendable { case nothing, replace, add, delete }

    /// When it is done.
    enum Time: CaseIterable, Sendable {
        /// While the former mode's daemon runs, which looks again.
        case before
        /// While none runs.
        case between
        /// While the new mode's daemon runs, which has looked once.
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
        "outlives the move while what both modes see of it is the same, and no change that one of them sees",
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
                // A finger that is replaced under its name is seen where templates are compared with templates.
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
                // And so it stays, in this mode.
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
        "is compared with the templates that were seen last, once they can be read again",
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
        // Of the same names, and another finger: seen now.
        let last = try await engine?.observe(sensor.seen(.templates))
        #expect(last?.changed == (deed == .replace))
        #expect((last?.domainState == state) == (deed == .nothing))
        #expect(try await opens(engine) == (deed == .nothing))
        await engine?.close()
    }

    private func write(_ record: KeybagRecord, to keychain: TestKeychain) throws {
        try keychain.write(record.file(authenticatedBy: keychain.keybagKey()), to: "keybag")
    }

    @Test("in a keybag of the second version, which does not know its names, it ends on the way back")
    func secondVersion() async throws {
        let keychain = TestKeychain()
        let sensor = Sensor()
        var (engine, _): (KeychainEngine?, PasscodeKey?) =
            try await keychain.setUp(enrolled: sensor.seen(.templates))
        try await engine?.add("set", "secret", control)
        var record = try #require(await engine?.record)
        await engine?.close()
        engine = nil
        record.enrolmentNames = nil
        try write(record, to: keychain)
        engine = try await keychain.restart()
        #expect(try await engine?.observe(sensor.seen(.names)).changed == true)
        #expect(try await !opens(engine))
        await engine?.close()
        engine = nil
        // Seen once more as it was, it learns the names.
        let other = TestKeychain()
        (engine, _) = try await other.setUp(enrolled: sensor.seen(.templates))
        try await engine?.add("set", "secret", control)
        record = try #require(await engine?.record)
        await engine?.close()
        engine = nil
        record.enrolmentNames = nil
        try write(record, to: other)
        engine = try await other.restart()
        #expect(try await engine?.observe(sensor.seen(.templates)).changed == false)
        #expect(try await engine?.observe(sensor.seen(.names)).changed == false)
        #expect(try await opens(engine))
        await engine?.close()
    }
}
