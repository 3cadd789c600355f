import KeychainModel
import Primitives
import Testing

@testable import KeychainEngine

@Suite("The states of a keybag")
struct StandingTests {
    private let record: KeybagRecord
    private let all: KeyRing

    init() throws {
        record = KeybagRecord(
            storeID: [UInt8](repeating: 7, count: KeybagRecord.storeIDByteCount),
            cost: .test,
            salt: [],
            assurance: .test,
            blob: [],
            passcodeWrap: [],
            recoveryWrap: [],
            keys: [:],
            epoch: 1,
            enrolment: nil,
            hasFingers: true,
            passcodePublicKey: [],
            passcodePrivateWrap: [],
            passcodePrivateRecoveryWrap: [],
            hardware: nil
        )
        all = try KeyRing(seal: .random()) { _ in .random() }
    }

    /// Every state with its name.
    private var states: [(name: String, standing: Standing)] {
        let keybag = OpenKeybag(record, all)
        let halfOpen = OpenKeybag(record, all.survivingLock())
        return [
            ("not set up", .notSetUp),
            ("damaged", .damaged(last: nil)),
            ("damaged, read before", .damaged(last: record)),
            ("locked", .locked(record)),
            ("half open", .halfOpen(halfOpen)),
            ("half open, damaged", .halfOpen(halfOpen.withFileDamaged())),
            ("open", .open(keybag, keybagKey: .random())),
            ("open, damaged", .open(keybag.withFileDamaged(), keybagKey: .random())),
        ]
    }

    private func name(_ standing: Standing) -> String {
        let name =
            switch standing {
            case .notSetUp: "not set up"
            case .damaged(let last): last == nil ? "damaged" : "damaged, read before"
            case .locked: "locked"
            case .halfOpen(let keybag): keybag.isFileDamaged ? "half open, damaged" : "half open"
            case .open(let keybag, _): keybag.isFileDamaged ? "open, damaged" : "open"
            }
        return name
    }

    private func names(after change: (inout Standing) -> Void) -> [String: String] {
        var found: [String: String] = [:]
        for (former, standing) in states {
            var standing = standing
            change(&standing)
            found[former] = name(standing)
        }
        return found
    }

    @Test("keys are available only in the open states, and the keybag's own key only in the unlocked ones")
    func keys() {
        let openNames = ["half open", "half open, damaged", "open", "open, damaged"]
        for (name, standing) in states {
            #expect((standing.context != nil) == openNames.contains(name), "\(name)")
            #expect((standing.keybagKey != nil) == name.hasPrefix("open"), "\(name)")
            #expect((standing.record == nil) == ["not set up", "damaged"].contains(name), "\(name)")
            #expect(standing.isFileDamaged == name.contains("damaged"), "\(name)")
        }
    }

    @Test("a lock keeps only the keys that survive it and does not change the other states")
    func lock() throws {
        let after = names { _ = $0.lock() }
        for (former, _) in states {
            #expect(after[former] == (former.hasPrefix("open") ? "half " + former : former), "\(former)")
        }
        var standing = Standing.open(OpenKeybag(record, all), keybagKey: .random())
        let first = standing.lock()
        let second = standing.lock()
        #expect(first && !second)
        let keys = try #require(standing.context).keys
        for name in KeybagKeyName.allCases {
            #expect((keys[name] != nil) == name.survivesLock, "\(name)")
        }
    }

    @Test("closing drops all keys")
    func close() {
        let after = names { $0.close() }
        let expected = [
            "not set up": "not set up", "damaged": "damaged", "damaged, read before": "damaged, read before",
            "locked": "locked", "half open": "locked", "half open, damaged": "damaged, read before",
            "open": "locked", "open, damaged": "damaged, read before",
        ]
        #expect(after == expected)
    }

    @Test("damage found later takes no key away, and rewriting the file ends it")
    func damage() {
        let damaged = [
            "not set up": "damaged", "damaged": "damaged", "damaged, read before": "damaged, read before",
            "locked": "damaged, read before", "half open": "half open, damaged",
            "half open, damaged": "half open, damaged", "open": "open, damaged",
            "open, damaged": "open, damaged",
        ]
        #expect(names { $0.foundDamage() } == damaged)
        let read = [
            "not set up": "locked", "damaged": "damaged, read before",
            "damaged, read before": "damaged, read before", "locked": "locked", "half open": "half open",
            "half open, damaged": "half open, damaged", "open": "open", "open, damaged": "open, damaged",
        ]
        var other = record
        other.epoch = 2
        #expect(names { $0.read(other) } == read)
        let written = [
            "not set up": "locked", "damaged": "locked", "damaged, read before": "locked", "locked": "locked",
            "half open": "half open", "half open, damaged": "half open", "open": "open",
            "open, damaged": "open",
        ]
        #expect(names { $0.wrote(other) } == written)
        for (name, standing) in states {
            var standing = standing
            standing.wrote(other)
            #expect(standing.record?.epoch == 2, "\(name)")
            #expect(standing.context.map { $0.epoch == 2 } != false, "\(name)")
        }
    }

    @Test("reading the same keybag again keeps the working context")
    func sameRecord() {
        var standing = Standing.open(OpenKeybag(record, all), keybagKey: .random())
        let context = standing.context
        standing.read(record)
        #expect(standing.context === context)
        standing.foundDamage()
        #expect(standing.context === context)
    }

    @Test("the enrolled set's key is not kept if the keybag was locked meanwhile")
    func currentSet() {
        #expect(names { $0.setCurrentSetKey(.random()) } == names { _ in })
        for (name, standing) in states {
            var standing = standing
            standing.setCurrentSetKey(.random())
            #expect((standing.context?.keys.currentSet != nil) == name.hasPrefix("open"), "\(name)")
            standing.setCurrentSetKey(nil)
            #expect(standing.context?.keys.currentSet == nil, "\(name)")
        }
    }

    @Test("only the enrolled set's key may be missing", arguments: KeybagKeyName.allCases)
    func missing(name: KeybagKeyName) {
        let ring = try? KeyRing(seal: .random()) { $0 == name ? nil : .random() }
        #expect((ring != nil) == (name == .biometryCurrentSet))
    }
}
