/// The name of a group of programs that share items; never empty.
public struct AccessGroup: Hashable, Sendable {
    /// The longest name accepted, in bytes of UTF-8.
    public static let longestName = 1024
    /// The group of the items of the Secret Service, which only its door and the command use, when a request names it.
    public static let secretService = AccessGroup(constant: "org.freedesktop.secrets")
    /// The prefix of the groups of doors, which no manifest may grant.
    public static let doorPrefix = "org.freedesktop."

    /// The name, for example the path of the program.
    public let name: String

    /// Accepts a name of 1 to 1024 bytes without NUL.
    public init?(_ name: String) {
        guard !name.isEmpty, name.utf8.count <= Self.longestName, !name.utf8.contains(0) else { return nil }
        self.name = name
    }

    private init(constant name: String) { self.name = name }

    /// Compares bytewise, as the store does: two encodings of one letter are two names.
    public static func == (lhs: Self, rhs: Self) -> Bool { lhs.name.utf8.elementsEqual(rhs.name.utf8) }
}
