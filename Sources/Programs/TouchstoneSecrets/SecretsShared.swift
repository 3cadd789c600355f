import Glibc
import KeychainClient
import KeychainModel
import MessageBus
import SecretMemory

extension RepresentedProgram {
    /// The door, where it asks for itself.
    static var thisProcess: RepresentedProgram {
        RepresentedProgram(process: getpid(), start: ProcessStat(of: getpid())?.start ?? 0)
    }
}

/// What all clients of the door share: the collection in memory, the collections that a client locked, and the way to the bus.
final class SecretsShared: Sendable {
    /// What is sent to the bus, in the order in which it was posted.
    enum Outgoing: Sendable {
        /// The reply to a call of this number.
        case reply(UInt64, Result<[BusValue], BusFault>)
        /// A signal; a broadcast without a destination.
        case signal(path: String, interface: String, member: String, [BusValue], destination: String?)
    }

    /// What wakes the thread of the bus.
    ///
    /// A structure: a closure that is itself the value of a generic type is wrapped once more at each access, until the stack is too
    /// short for all wrappers.
    private struct Wake: Sendable {
        let run: @Sendable () -> Void
    }

    let sessionItems = SessionItems()
    let index: ItemIndex
    let grants = Grants()
    let memory = MemoryRelease()
    let refusals = RefusalLog()
    /// The display of the door's own environment.
    let place: PromptOrigin
    private let portalItems = Guarded(())
    private let locked = Guarded<Set<String>>([])
    private let outgoing = Guarded<[Outgoing]>([])
    private let wake = Guarded<Wake?>(nil)

    init(of keychain: RemoteKeychain, place: PromptOrigin) {
        self.place = place
        index = ItemIndex(of: keychain.representing(.thisProcess).separate())
        index.onCold { [weak self] collections in
            for name in collections { self?.tellLock(of: name, isLocked: true) }
        }
    }

    /// Runs `body` while no other call makes the item of a sandboxed program.
    func portalTurn<R>(_ body: () throws(BusFault) -> R) throws(BusFault) -> R {
        try portalItems.withLock { _ throws(BusFault) in try body() }
    }

    // MARK: The bus

    /// Has `body` called whenever something was posted.
    func onPost(_ body: @escaping @Sendable () -> Void) { wake.withLock { $0 = Wake(run: body) } }

    /// Posts something to the bus, from any thread.
    func post(_ message: Outgoing) {
        let isFirst = outgoing.withLock { outgoing in
            outgoing.append(message)
            return outgoing.count == 1
        }
        if isFirst { wake.withLock { $0 }?.run() }
    }

    /// Everything that was posted since the last call.
    func takePosted() -> [Outgoing] {
        outgoing.withLock { outgoing in
            defer { outgoing = [] }
            return outgoing
        }
    }

    /// Posts a signal of a collection on each of its paths.
    func tell(_ member: String, of item: String, in collection: String, aliases: [String]) {
        for object in [SecretObject.collection(collection)] + aliases.map(SecretObject.alias) {
            post(
                .signal(
                    path: object.path,
                    interface: SecretNames.collection,
                    member: member,
                    [.objectPath(item)],
                    destination: nil
                )
            )
        }
    }

    /// Posts a signal of the service about a collection.
    func tell(_ member: String, of collection: String) {
        post(
            .signal(
                path: SecretNames.root,
                interface: SecretNames.service,
                member: member,
                [.objectPath(SecretObject.collection(collection).path)],
                destination: nil
            )
        )
    }

    /// Posts which properties of an object changed: some with their new values, and the names of those whose value is to be asked for.
    func tell(
        _ properties: [String: BusValue],
        untold: [String] = [],
        of path: String,
        _ interface: String
    ) {
        post(
            .signal(
                path: path,
                interface: SecretNames.properties,
                member: "PropertiesChanged",
                [.string(interface), .properties(properties), .strings(untold)],
                destination: nil
            )
        )
    }

    /// Posts that a collection is locked or unlocked now.
    func tellLock(of collection: String, isLocked: Bool) {
        let path = SecretObject.collection(collection).path
        tell(["Locked": .boolean(isLocked)], of: path, SecretNames.collection)
        tell("CollectionChanged", of: collection)
    }

    // MARK: Locks of clients

    /// Whether a client locked a collection.
    func isLocked(_ collection: String) -> Bool { locked.withLock { $0.contains(collection) } }

    /// Locks a collection for every client until one unlocks it.
    func lock(_ collection: String) {
        if locked.withLock({ $0.insert(collection).inserted }) { tellLock(of: collection, isLocked: true) }
    }

    /// Ends the lock of a collection.
    func unlock(_ collection: String) {
        if locked.withLock({ $0.remove(collection) }) != nil { tellLock(of: collection, isLocked: false) }
    }
}
