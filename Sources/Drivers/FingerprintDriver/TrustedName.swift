/// A well-known bus name and the one connection that is believed for it.
///
/// Any local account may send any signal with any interface and path; only the sender is written by the bus.
/// Unique names are never given twice.
struct TrustedName {
    /// The well-known name.
    let name: String
    /// The user that must own it.
    let ownerUserID: UInt32
    /// Grows with each change of the owner.
    private(set) var generation = 0
    /// The unique name of the owner that was checked.
    var owner: String?

    private let interfaces: [String]
    private var former: String?

    init(_ name: String, ownerUserID: UInt32, interfaces: [String]) {
        self.name = name
        self.ownerUserID = ownerUserID
        self.interfaces = interfaces
    }

    /// Whether `sender` is the owner that was checked.
    func speaks(_ sender: String) -> Bool { sender == owner }

    /// Whether `sender` was the owner until just now: late, and no forger.
    func isFormer(_ sender: String) -> Bool { sender == former }

    /// The match rules that bring the owner's signals.
    func rules(sender: String) -> [String] {
        interfaces.map { "type='signal',sender='\(sender)',interface='\($0)'" }
    }

    /// The name changed hands; returns the match rules that are of no use any more.
    mutating func lose() -> [String] {
        generation += 1
        guard let owner = owner.take() else { return [] }
        former = owner
        return rules(sender: owner)
    }
}
