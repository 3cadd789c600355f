import Glibc
import KeychainModel

/// Moves a keychain in place: between its user's directory and that of the account that keeps it in system mode.
///
/// Not by an export, which leaves behind what belongs to this device: all files move as they are. What is in force is
/// said by names alone, each changed by one call and made durable before the next: a keychain in the user's directory
/// counts unless the file ``MovedKeychain`` is beside it; one in system mode counts under its user's number and no other
/// name. The first is always put out of force before the second is put in force, so that there are never two of them.
/// A crash leaves one in force, or neither, with all of it in one of the two places: the next call goes on from there.
package struct KeychainMove {
    /// What a move came to.
    package enum Outcome: Sendable, Equatable {
        /// The keychain is there, to be opened once before the former one is removed.
        case needsCheck
        /// There was no keychain; a new one is made there.
        case empty
    }

    package let places: MovePlaces
    /// Hears how many bytes of how many are copied.
    let progress: (_ done: Int64, _ total: Int64) -> Void

    package init(_ places: MovePlaces, progress: @escaping (Int64, Int64) -> Void = { _, _ in }) {
        self.places = places
        self.progress = progress
    }

    // MARK: Standing

    /// Where the keychain is; changes nothing.
    package func standing() throws(MoveError) -> MoveStanding { try facts().standing }

    /// Whether the user's own directory has a keychain.
    package func hasKeychain() throws(MoveError) -> Bool { try facts().hasKeychain }

    /// The process that uses the keychain where it is now; nil where none does, or it cannot be told.
    package func keepingProcess() throws(MoveError) -> Int32? {
        let path = try standing().isSystem ? places.keptDirectory : places.userDirectory
        var status = stat()
        // Its directory need not be open to whoever asks.
        guard unsafe lstat(path, &status) == 0 else { return nil }
        return DirectoryHold.holder(device: status.st_dev, inode: status.st_ino, owner: nil)
    }

    private func facts() throws(MoveError) -> MoveFacts {
        var facts = MoveFacts()
        if let system = try OpenDirectory.open(
            places.systemDirectory,
            owner: places.administrator,
            isPrivate: false
        ) {
            facts.isKept = try system.has(places.keptName)
            facts.isKeptEmpty = facts.isKept && isEmpty(places.keptName, in: system)
            facts.isStaged = try system.has(places.stagedName)
            facts.isMoving = try system.has(places.movingName)
            facts.isLeaving = try system.has(places.leavingName)
            facts.hasSpare = try system.has(places.spareName)
        }
        try asUser { () throws(MoveError) in
            guard let own = try OpenDirectory.open(places.userDirectory, owner: places.user.uid) else {
                return
            }
            facts.isMarked = MovedKeychain.destination(in: own.descriptor) != nil
            facts.hasKeychain = try !essentials(in: own).isEmpty
            facts.isArriving = try own.has(MovePlaces.arrivingName)
        }
        return facts
    }

    /// Whether it is certain that a directory of the account's has no keychain; others than root and the account cannot tell.
    private func isEmpty(_ name: String, in system: OpenDirectory) -> Bool {
        let user = ProcessUser.uid
        guard user == 0 || user == places.keeper.uid else { return false }
        return (try? essentials(of: name, in: system))?.isEmpty ?? false
    }

    func asUser<R>(_ body: () throws(MoveError) -> R) throws(MoveError) -> R {
        try places.user.acting(body)
    }

    // MARK: To system mode

    /// Takes the keychain to system mode, or finishes that, or undoes a way back that was not finished.
    ///
    /// - Throws: ``MoveError``; `enabledAlready` where there is nothing left to do.
    package func enable() throws(MoveError) -> Outcome {
        let system = try systemDirectory()
        defer { withExtendedLifetime(system) {} }
        let facts = try facts()
        switch facts.standing {
        case .twofold: throw twoKeychains
        case .lost: throw lost
        case .system:
            try mark()
            if facts.isMoving { try removeFormer(in: system) }
            throw MoveError(.enabledAlready, "the keychain is in system mode already")
        case .systemUnchecked: break
        case .disabling:
            // All of it is still there: it counts again, and what came back is the former one.
            try mark()
            try noteOrigin(in: system)
            try system.rename(places.leavingName, places.keptName)
            try system.sync()
        case .enabling where !facts.hasKeychain: try adoptStaged(in: system)
        case .bypassed:
            try removeBypassed(in: system)
            try take(in: system)
        case .enabling, .perUser, .begun, .returned: try take(in: system)
        }
        return try outcome(in: system)
    }

    /// Takes the user's keychain to system mode.
    private func take(in system: OpenDirectory) throws(MoveError) {
        // Locked before it is looked at: a daemon may be about to make a keychain there.
        let own = try lockedUserDirectory()
        // Until the other one counts: a daemon that began in between would write to what was copied.
        defer { withExtendedLifetime(own) {} }
        let files = try asUser { () throws(MoveError) in try essentials(in: own) }
        guard files.isEmpty || files.contains(StoreFile.keybag.rawValue) else { throw withoutKeybag }
        try stage(own, in: system)
        try noteOrigin(in: system)
        try mark(own)
        try system.rename(places.stagedName, places.keptName)
        try system.sync()
    }

    /// Removes the directory of a daemon that found no keychain there.
    private func removeBypassed(in system: OpenDirectory) throws(MoveError) {
        guard let kept = try system.directory(places.keptName, owner: places.keeper.uid) else { return }
        try DirectoryHold.take(kept, from: places.keeper)
        defer { withExtendedLifetime(kept) {} }
        // Somebody may have set one up in the meantime.
        guard try essentials(of: places.keptName, in: system).isEmpty else { throw twoKeychains }
        try removeKept(places.keptName, in: system)
        try system.sync()
    }

    /// The user's directory holds nothing more, and the copy was whole: it is the keychain.
    private func adoptStaged(in system: OpenDirectory) throws(MoveError) {
        // Until it is whole it is root's own.
        guard try system.directory(places.stagedName, owner: places.keeper.uid) != nil else { throw lost }
        try system.rename(places.stagedName, places.keptName)
        try system.sync()
    }

    /// Makes a whole, durable copy of the user's keychain, under a name that does not count.
    private func stage(_ own: OpenDirectory, in system: OpenDirectory) throws(MoveError) {
        try discardStaged(in: system)
        try system.make(places.stagedName)
        do throws(MoveError) {
            guard let staged = try system.directory(places.stagedName, owner: places.administrator)
            else {
                throw .system(places.stagedName, ENOENT)
            }
            try StoreCopy(
                source: own,
                reader: places.user,
                target: staged,
                writer: nil,
                owner: places.keeper,
                progress: progress
            ).run()
            guard fchown(staged.descriptor, places.keeper.uid, places.keeper.gid) == 0 else {
                throw .system(staged.path)
            }
            try staged.sync()
            try system.sync()
        } catch {
            try? discardStaged(in: system)
            throw error
        }
    }

    private func discardStaged(in system: OpenDirectory) throws(MoveError) {
        try removeKept(places.stagedName, in: system)
    }

    /// Removes the former keychain of the user, once the one in system mode was opened and is whole.
    ///
    /// - Throws: ``MoveError``; `notEnabled` where the keychain is not in system mode.
    package func finishEnabling() throws(MoveError) {
        let system = try systemDirectory()
        defer { withExtendedLifetime(system) {} }
        let facts = try facts()
        switch facts.standing {
        case .system, .systemUnchecked: break
        case .twofold: throw twoKeychains
        case .perUser, .begun, .bypassed, .returned, .enabling, .disabling, .lost: throw notEnabled
        }
        try removeFormer(in: system)
    }

    /// Removes what the user's directory, and that of a former way back, still have of a keychain that is in system mode.
    private func removeFormer(in system: OpenDirectory) throws(MoveError) {
        // Nothing is removed that is not there as well.
        guard let kept = try system.directory(places.keptName, owner: places.keeper.uid) else { throw lost }
        let own = try asUser { () throws(MoveError) in
            try OpenDirectory.open(places.userDirectory, owner: places.user.uid)
        }
        var former = try essentials(of: places.spareName, in: system)
        if let own { former.formUnion(try asUser { () throws(MoveError) in try essentials(in: own) }) }
        let isKept = try places.keeper.acting { () throws(MoveError) in
            isWhole(kept, former, owner: places.keeper)
        }
        guard isKept else { throw missing(from: kept.path) }
        try asUser { () throws(MoveError) in
            guard let own else { return }
            // The keybag last: what is there without one is no keychain.
            let names = try own.storeNames()
            for name in names where name != StoreFile.keybag.rawValue { try erase(name, in: own) }
            for name in names where name == StoreFile.keybag.rawValue { try erase(name, in: own) }
            try removeArriving(from: own)
            removeSocketDirectory(from: own)
            try own.sync()
        }
        try removeKept(places.spareName, in: system)
        try system.sync()
        try noteMoved(in: system)
    }

    // MARK: Back to the user

    /// Takes the keychain back to its user, or finishes that, or undoes a way to system mode that was not finished.
    ///
    /// The daemon in system mode is stopped before.
    /// - Throws: ``MoveError``; `notEnabled` where there is nothing to take back.
    package func disable() throws(MoveError) -> Outcome {
        let system = try systemDirectory()
        defer { withExtendedLifetime(system) {} }
        let facts = try facts()
        switch facts.standing {
        case .perUser:
            try forgetOrigin(in: system)
            throw notEnabled
        case .twofold: throw twoKeychains
        case .lost: throw lost
        case .begun:
            try discardStaged(in: system)
            try forgetOrigin(in: system)
            return .empty
        case .bypassed:
            try removeBypassed(in: system)
            return .empty
        case .returned: break
        case .enabling where facts.hasKeychain:
            try unmark()
            try discardStaged(in: system)
            // One that has come back is not checked yet.
            if !facts.hasSpare { try forgetOrigin(in: system) }
        case .enabling:
            try adoptStaged(in: system)
            try bringBack(in: system)
        case .disabling: try settle(in: system)
        case .system, .systemUnchecked: try bringBack(in: system)
        }
        return try outcome(in: system)
    }

    private func bringBack(in system: OpenDirectory) throws(MoveError) {
        guard let kept = try system.directory(places.keptName, owner: places.keeper.uid) else { throw lost }
        try DirectoryHold.take(kept, from: places.keeper)
        try mark()
        let own = try lockedUserDirectory()
        // Until the other one counts: a daemon that began in between would write to what was copied.
        defer { withExtendedLifetime((kept, own)) {} }
        try asUser { () throws(MoveError) in
            try putAside(in: own)
            try removeArriving(from: own)
            try own.make(MovePlaces.arrivingName)
        }
        do throws(MoveError) {
            let arriving = try asUser { () throws(MoveError) in
                try own.directory(MovePlaces.arrivingName, owner: places.user.uid)
            }
            guard let arriving else { throw .system(own.path, ENOENT) }
            try StoreCopy(
                source: kept,
                reader: places.keeper,
                target: arriving,
                writer: places.user,
                owner: nil,
                progress: progress
            ).run()
            try arriving.sync()
            try own.sync()
        } catch {
            try? asUser { () throws(MoveError) in try removeArriving(from: own) }
            throw error
        }
        try system.rename(places.keptName, places.leavingName)
        try system.sync()
        try settle(in: system)
    }

    /// Puts a keychain that was never opened in system mode out of the way of the one that comes back.
    private func putAside(in own: OpenDirectory) throws(MoveError) {
        let names = try own.storeNames()
        guard !names.isEmpty else { return }
        var number = 1
        while try own.has("\(MovePlaces.asideName)-\(number)") { number += 1 }
        let name = "\(MovePlaces.asideName)-\(number)"
        try own.make(name)
        guard let aside = try own.directory(name, owner: places.user.uid) else {
            throw .system(own.path, ENOENT)
        }
        for file in names { try own.rename(file, to: aside, file) }
        try aside.sync()
        try own.sync()
    }

    /// Gives the files of the copy that came back their names, and puts the user's directory in force.
    private func settle(in system: OpenDirectory) throws(MoveError) {
        let leaving = try essentials(of: places.leavingName, in: system)
        try asUser { () throws(MoveError) in
            guard let own = try OpenDirectory.open(places.userDirectory, owner: places.user.uid) else {
                throw lost
            }
            if let arriving = try own.directory(MovePlaces.arrivingName, owner: places.user.uid) {
                for name in try arriving.names() { try arriving.rename(name, to: own, name) }
                try own.removeDirectory(MovePlaces.arrivingName)
            }
            // The directory was the user's to change in the meantime.
            guard isWhole(own, leaving, owner: places.user) else { throw notBack }
            try own.sync()
        }
        try removeKept(places.spareName, in: system)
        try system.rename(places.leavingName, places.spareName)
        try system.sync()
        try unmark()
    }

    /// Removes what system mode still has of the keychain, once the user's own was opened and is whole.
    ///
    /// - Throws: ``MoveError``; `enabledAlready` where it is in system mode.
    package func finishDisabling() throws(MoveError) {
        let system = try systemDirectory()
        defer { withExtendedLifetime(system) {} }
        let facts = try facts()
        switch facts.standing {
        case .perUser, .returned: break
        case .twofold: throw twoKeychains
        case .lost: throw lost
        case .begun, .bypassed, .system, .systemUnchecked, .enabling, .disabling:
            throw MoveError(.enabledAlready, "the keychain is in system mode")
        }
        let former = try essentials(of: places.spareName, in: system)
        let isBack = try asUser { () throws(MoveError) in
            guard let own = try OpenDirectory.open(places.userDirectory, owner: places.user.uid) else {
                return former.isEmpty
            }
            return isWhole(own, former, owner: places.user)
        }
        guard isBack else { throw missing(from: places.userDirectory) }
        try removeKept(places.spareName, in: system)
        try forgetOrigin(in: system)
    }
}
