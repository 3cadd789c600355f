import Foundation
import Glibc
import KeychainModel
import SystemMigration
import Testing
import TouchstoneTesting

@Suite("Emptying the former place after a move")
struct FinishingTests {
    private let moving: PrivateMove
    private var own: String { moving.places.userDirectory }
    private var kept: String { moving.places.keptDirectory }
    private var spare: String { kept + ".back" }

    init() throws { moving = try PrivateMove() }

    private func code(_ body: () throws -> Void) -> MoveError.Code? {
        do {
            try body()
            return nil
        } catch {
            return (error as? MoveError)?.code
        }
    }

    /// A fault in a file of the keychain that is to be the only one.
    enum Fault: CaseIterable, Sendable {
        case missing, empty, link, second, directory, mode

        /// Damages a file and returns what repairs it.
        func make(_ path: String) throws -> () throws -> Void {
            let aside = path + ".aside"
            let files = FileManager.default
            try files.moveItem(atPath: path, toPath: aside)
            switch self {
            case .missing: break
            case .empty: try Data().write(to: URL(fileURLWithPath: path))
            case .link: try files.createSymbolicLink(atPath: path, withDestinationPath: aside)
            case .second: try files.linkItem(atPath: aside, toPath: path)
            case .directory: try files.createDirectory(atPath: path, withIntermediateDirectories: false)
            case .mode: try files.copyItem(atPath: aside, toPath: path)
            }
            if self == .empty || self == .mode {
                guard unsafe chmod(path, self == .mode ? 0o644 : 0o600) == 0 else { throw POSIXError(.EIO) }
            }
            return {
                try? files.removeItem(atPath: path)
                try files.moveItem(atPath: aside, toPath: path)
            }
        }
    }

    @Test(
        "neither place is emptied unless the other has intact keybag and items files",
        arguments: Fault.allCases,
        ["keybag", "items.sqlite"]
    )
    func whole(fault: Fault, name: String) throws {
        try moving.fill()
        #expect(try moving.move.enable() == .needsCheck)
        var mend = try fault.make(kept + "/" + name)
        #expect(code { try moving.move.finishEnabling() } == .lost)
        #expect(moving.own.isSuperset(of: ["keybag", "items.sqlite", "device.key"]))
        #expect(try moving.move.standing() == .systemUnchecked)
        try mend()
        try moving.move.finishEnabling()
        #expect(moving.own == ["moved"])

        #expect(try moving.move.disable() == .needsCheck)
        mend = try fault.make(own + "/" + name)
        #expect(code { try moving.move.finishDisabling() } == .lost)
        #expect(PrivateMove.names(spare).isSuperset(of: ["keybag", "items.sqlite", "device.key"]))
        try mend()
        try moving.move.finishDisabling()
        #expect(PrivateMove.names(moving.places.systemDirectory).isEmpty)
        #expect(moving.own.isSuperset(of: ["keybag", "items.sqlite", "device.key"]))
    }

    @Test("a returned copy is not activated if the user's programs removed a part of it meanwhile")
    func notBack() throws {
        try moving.fill()
        #expect(try moving.move.enable() == .needsCheck)
        try moving.move.finishEnabling()
        // As a kill leaves it once the copy is complete, but with one file missing.
        let arriving = own + "/arriving"
        try PrivateMove.makePrivate(arriving)
        for name in moving.kept.subtracting(["keybag"]) {
            try moving.write("content of \(name)", to: arriving + "/" + name)
        }
        try FileManager.default.moveItem(atPath: kept, toPath: kept + ".old")
        #expect(try moving.move.standing() == .disabling)
        for _ in 0..<2 {
            #expect(code { _ = try moving.move.disable() } == .notWhole)
            #expect(try moving.move.standing() == .disabling)
            #expect(moving.own.contains("moved"))
        }
        // As its hint says.
        #expect(try moving.move.enable() == .needsCheck)
        #expect(moving.kept.isSuperset(of: ["keybag", "items.sqlite"]))
        #expect(try moving.move.disable() == .needsCheck)
        try moving.move.finishDisabling()
        #expect(moving.own.isSuperset(of: ["keybag", "items.sqlite"]) && !moving.own.contains("moved"))
    }

    @Test("items without a keybag are not moved, because nothing could open them")
    func withoutKeybag() throws {
        try moving.fill(["items.sqlite", "device.key"])
        #expect(code { _ = try moving.move.enable() } == .notWhole)
        #expect(moving.own == ["items.sqlite", "device.key"])
        #expect(try moving.move.standing() == .perUser)
        #expect(PrivateMove.names(moving.places.systemDirectory).isEmpty)
    }

    @Test("either file of the keybag is enough for a move, and for the former place to be emptied")
    func keybagCopy() throws {
        try moving.fill(["keybag.copy", "items.sqlite", "device.key"])
        #expect(try moving.move.enable() == .needsCheck)
        try moving.move.finishEnabling()
        #expect(moving.own == ["moved"])
        // The first unlock writes the other file again.
        try moving.write("content", to: kept + "/keybag")
        #expect(try moving.move.disable() == .needsCheck)
        try FileManager.default.removeItem(atPath: own + "/keybag.copy")
        try moving.move.finishDisabling()
        #expect(moving.own.isSuperset(of: ["keybag", "items.sqlite"]))
        #expect(try moving.move.enable() == .needsCheck)
        try FileManager.default.removeItem(atPath: kept + "/keybag")
        #expect(code { try moving.move.finishEnabling() } == .lost)
        #expect(moving.own.isSuperset(of: ["keybag", "items.sqlite", "device.key"]))
    }

    @Test("a keychain that has only its keybag's copy left is one")
    func copyAlone() throws {
        try moving.fill(["keybag.copy"])
        #expect(try moving.move.hasKeychain())
    }

    @Test(
        "a user without a keychain, or with an interrupted set-up, needs no check, and can move back",
        arguments: [[], ["device.key", "attempts", "keybag.new", "daemon.log"]]
    )
    func none(names: [String]) throws {
        try moving.fill(names)
        #expect(try !moving.move.hasKeychain())
        #expect(try moving.move.enable() == .empty)
        // Killed before it was finished: the same call continues.
        #expect(code { _ = try moving.move.enable() } == .enabledAlready)
        try moving.move.finishEnabling()
        #expect(try moving.move.standing() == .system)
        #expect(moving.own == ["moved"])
        #expect(code { _ = try moving.move.enable() } == .enabledAlready)
        #expect(try moving.move.disable() == .empty)
        try moving.move.finishDisabling()
        #expect(try moving.move.standing() == .perUser)
        #expect(PrivateMove.names(moving.places.systemDirectory).isEmpty)
    }

    @Test("an interrupted copy is reported, and is continued or removed")
    func begun() throws {
        try moving.fill()
        for isUndone in [true, false] {
            try PrivateMove.makePrivate(kept + ".new")
            try moving.write("half", to: kept + ".new/keybag")
            guard unsafe chmod(moving.places.systemDirectory, 0o755) == 0 else { throw POSIXError(.EIO) }
            #expect(try moving.move.standing() == .begun)
            #expect(code { try moving.move.finishEnabling() } == .notEnabled)
            if isUndone {
                #expect(try moving.move.disable() == .empty)
                try moving.move.finishDisabling()
                #expect(try moving.move.standing() == .perUser)
                #expect(PrivateMove.names(moving.places.systemDirectory).isEmpty)
            } else {
                #expect(try moving.move.enable() == .needsCheck)
            }
            #expect(moving.own.contains("keybag"))
        }
        #expect(try String(contentsOfFile: kept + "/keybag", encoding: .utf8) == "content of keybag")
    }

    @Test("an empty store created in system mode by a daemon is no second keychain, and is removed")
    func bypassed() throws {
        try moving.fill()
        for isUndone in [true, false] {
            try PrivateMove.makePrivate(kept)
            guard unsafe chmod(moving.places.systemDirectory, 0o755) == 0 else { throw POSIXError(.EIO) }
            try moving.write("", to: kept + "/lock")
            #expect(try moving.move.standing() == .bypassed)
            if isUndone {
                #expect(try moving.move.disable() == .empty)
                #expect(try moving.move.standing() == .perUser)
            } else {
                #expect(try moving.move.enable() == .needsCheck)
                try moving.move.finishEnabling()
                #expect(moving.kept.isSuperset(of: ["keybag", "items.sqlite"]))
            }
        }
        #expect(moving.own == ["moved"])
    }

    @Test("a keychain put in the former place after its removal is not removed")
    func byHand() throws {
        try moving.fill()
        #expect(try moving.move.enable() == .needsCheck)
        try moving.move.finishEnabling()
        try moving.fill(["keybag", "items.sqlite"])
        #expect(try moving.move.standing() == .twofold)
        #expect(code { try moving.move.finishEnabling() } == .twoKeychains)
        #expect(code { _ = try moving.move.disable() } == .twoKeychains)
        #expect(code { _ = try moving.move.enable() } == .twoKeychains)
        #expect(moving.own == ["moved", "keybag", "items.sqlite"])
    }

    @Test("the origin is known from the move until the end of the way back")
    func origin() throws {
        func origin() -> String? {
            KeychainMove.origin(of: moving.places.user.uid, systemDirectory: moving.places.systemDirectory)
        }
        try moving.fill()
        #expect(origin() == nil)
        #expect(try moving.move.enable() == .needsCheck)
        #expect(origin() == own)
        try moving.move.finishEnabling()
        #expect(origin() == own)
        #expect(try moving.move.disable() == .needsCheck)
        #expect(origin() == own)
        try moving.move.finishDisabling()
        #expect(origin() == nil)
    }
}
