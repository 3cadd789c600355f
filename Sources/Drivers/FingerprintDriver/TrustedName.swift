/// A well-known bus name and the one connection that is trusted for it.
///
/// Any local account may send any signal with any interface and path; only the sender is set by the bus. Unique names
/// are never reused.
struct TrustedName {
    /// The well-known name.
    let name: String
    /// The user that must own it.
    let ownerUserID: UInt32
    /// Incremented with each change of the owner.
    private(set) var generation = 0
    /// The unique name of the verified owner.
    var owner: String?

    private let interfaces: [String]
    private var former: String?

    init(_ name: String, ownerUserID: UInt32, interfaces: [String]) {
        self.name = name
        self.ownerUserID = ownerUserID
        self.interfaces = interfaces
    }

    /// Whether `sender` is the verified owner.
    func speaks(_ sender: String) -> Bool { sender == owner }

    /// Whether `sender` was the previous owner: its signal is late, not forged.
    func isFormer(_ sender: String) -> Bool { sender == former }

    /// The match rules for the owner's signals.
    func rules(sender: String) -> [String] {
        interfaces.map { "type='signal',sender='\(sender)',interface='\($0)'" }
    }

    /// Records a change of the owner; returns the match rules that are no longer needed.
    mutating func lose() -> [String] {
        generation += 1
        guard let owner = owner.take() else { return [] }
        former = owner
        return rules(sender: owner)
    }
}
