import Glibc
import KeychainModel

/// Moves a keychain in place, between its user's directory and the directory of the account that keeps it in system mode.
///
/// All files move unchanged; an export would leave out what is bound to this device. File names alone decide which
/// keychain is active, each changed by one system call and made durable before the next: a keychain in the user's
/// directory is active unless the file ``MovedKeychain`` is beside it; one in system mode is active under its user's
/// number and under no other name. The first is always deactivated before the second is activated, so that two are never
/// active. After a crash one is active or none, with a complete copy in one of the two places; the next call continues
/// from there.
package struct KeychainMove {
    /// The result of a move.
    package enum Outcome: Sendable, Equatable {
        /// The keychain is at its destination and must be opened once before the former one is removed.
        case needsCheck
        /// There was no keychain; a new one is created at the destination.
        case empty
    }

    package let places: MovePlaces
    /// Reports progress in bytes.
    let progress: (_ done: Int64, _ total: Int64) -> Void

    package init(_ places: MovePlaces, progress: @escaping (Int64, Int64) -> Void = { _, _ in }) {
        self.places = places
        self.progress = progress
    }

    // MARK: Standing

    /// Where the keychain is now; changes nothing.
    package func standing() throws(MoveError) -> MoveStanding { try facts().standing }

    /// Whether the user's own directory has a keychain.
    package func hasKeychain() throws(MoveError) -> Bool { try facts().hasKeychain }

    /// The process that uses the keychain in its present place; nil if there is none.
    package func keepingProcess() throws(MoveError) -> Int32? {
        let path = try standing().isSystem ? places.keptDirectory : places.userDirectory
        var status = stat()
        // The caller may not have access to the directory.
        guard unsafe lstat(path, &status) == 0 else { return nil }
        let (device, inode) = (status.st_dev, status.st_ino)
        if let process = try DirectoryHold.holder(device: device, inode: inode, owner: nil) { return process }
        return try DirectoryHold.listedHolder(device: device, inode: inode)
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

    /// Whether a directory of the account certainly has no keychain; only root and the account can tell.
    private func isEmpty(_ name: String, in system: OpenDirectory) -> Bool {
        let user = ProcessUser.uid
        guard user == 0 || user == places.keeper.uid else { return false }
        return (try? essentials(of: name, in: system))?.isEmpty ?? false
    }

    func asUser<R>(_ body: () throws(MoveError) -> R) throws(MoveError) -> R {
        try places.user.acting(body)
    }

    // MARK: To system mode

    /// Moves the keychain to system mode, completes an interrupted move, or reverts an unfinished move back.
    ///
    /// - Throws: ``MoveError``; `enabledAlready` if nothing is left to do.
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
            // The account's copy is complete: activate it again; the files that came back become the former keychain.
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

    /// Moves the user's keychain to system mode.
    private func take(in system: OpenDirectory) throws(MoveError) {
        // Lock before looking: a daemon may be about to create a keychain there.
        let own = try lockedUserDirectory()
        // Hold the lock until the other keychain is active: a daemon started in between would write to files already
        // copied.
        defer { withExtendedLifetime(own) {} }
        let files = try asUser { () throws(MoveError) in try essentials(in: own) }
        guard files.isEmpty || Self.haveKeybag(files) else { throw withoutKeybag }
        try stage(own, in: system)
        try noteOrigin(in: system)
        try mark(own)
        try system.rename(places.stagedName, places.keptName)
        try system.sync()
    }

    /// Removes the directory of a daemon that started in system mode and found no keychain.
    private func removeBypassed(in system: OpenDirectory) throws(MoveError) {
        guard let kept = try system.directory(places.keptName, owner: places.keeper.uid) else { return }
        try DirectoryHold.take(kept, from: places.keeper)
        defer { withExtendedLifetime(kept) {} }
        // The user may have set up a keychain in the meantime.
        guard try essentials(of: places.keptName, in: system).isEmpty else { throw twoKeychains }
        try removeKept(places.keptName, in: system)
        try system.sync()
    }

    /// Activates the staged copy: the user's directory has no files left, and the copy was complete.
    private func adoptStaged(in system: OpenDirectory) throws(MoveError) {
        // Root owns the staged directory until the copy is complete.
        guard try system.directory(places.stagedName, owner: places.keeper.uid) != nil else { throw lost }
        try system.rename(places.stagedName, places.keptName)
        try system.sync()
    }

    /// Makes a complete, durable copy of the user's keychain under a name that does not make it active.
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

    /// Removes the user's former keychain, after the one in system mode was opened and found complete.
    ///
    /// - Throws: ``MoveError``; `notEnabled` if the keychain is not in system mode.
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

    /// Removes the files of a keychain in system mode that are left in the user's directory and from an earlier move
    /// back.
    private func removeFormer(in system: OpenDirectory) throws(MoveError) {
        // Remove nothing that the kept directory does not have as well.
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
            // Remove the keybag last: without one the remaining files are not a keychain.
            let names = try own.storeNames()
            for name in names where !Self.isKeybag(name) { try erase(name, in: own) }
            for name in names where Self.isKeybag(name) { try erase(name, in: own) }
            try removeArriving(from: own)
            removeSocketDirectory(from: own)
            try own.sync()
        }
        try removeKept(places.spareName, in: system)
        try system.sync()
        try noteMoved(in: system)
    }

    // MARK: Back to the user

    /// Moves the keychain back to its user, completes an interrupted move, or reverts an unfinished move to system mode.
    ///
    /// The daemon in system mode must be stopped first.
    /// - Throws: ``MoveError``; `notEnabled` if there is nothing to move back.
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
            // A keychain that came back earlier has not been checked yet.
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
        // Hold the locks until the other keychain is active: a daemon started in between would write to files already
        // copied.
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

    /// Moves a keychain that was never opened in system mode aside, to make room for the one that comes back.
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

    /// Renames the files of the returned copy to their final names and activates the user's directory.
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
            // The user could change the directory in the meantime.
            guard isWhole(own, leaving, owner: places.user) else { throw notBack }
            try own.sync()
        }
        try removeKept(places.spareName, in: system)
        try system.rename(places.leavingName, places.spareName)
        try system.sync()
        try unmark()
    }

    /// Removes the copy left in system mode, after the user's own keychain was opened and found complete.
    ///
    /// - Throws: ``MoveError``; `enabledAlready` if the keychain is in system mode.
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
