/// The limits of what an app says in a prompt.
extension PromptText {
    /// The most items.
    static let mostItems = 8
    /// The most named fallbacks.
    static let mostFallbacks = 4
    /// The longest title and the longest subtitle, in characters.
    static let longestTitle = 60
    /// The longest reason, in characters.
    static let longestReason = 200
    /// The longest item, in characters.
    static let longestItem = 80
    /// The longest title of a button, in characters.
    static let longestButton = 40
    /// The most bytes of UTF-8 that title, subtitle, reason and items have together; a percent sign counts as three.
    ///
    /// A line for a prompt program has at most 1,000 bytes (Assuan), and a percent sign is escaped in it: this much is shown
    /// whole beside the longest name of a program.
    static let largestByteCount = 480

    /// Checks the texts and the timeout; nothing is shown in part.
    ///
    /// - Throws: ``TouchstoneError`` with `limitExceeded`; its details name the limit.
    func check() throws(TouchstoneError) {
        guard !reason.isEmpty else { throw .limit("reason: at least 1 character") }
        try Self.check(reason, "reason", longest: Self.longestReason)
        try Self.check(title ?? "", "title", longest: Self.longestTitle)
        try Self.check(subtitle ?? "", "subtitle", longest: Self.longestTitle)
        guard items.count <= Self.mostItems else { throw .limit("items: at most \(Self.mostItems)") }
        for item in items { try Self.check(item, "item", longest: Self.longestItem) }
        try Self.check(cancelLabel ?? "", "cancel label", longest: Self.longestButton)
        let fallbacks = fallbacks ?? []
        guard fallbacks.count <= Self.mostFallbacks else {
            throw .limit("fallbacks: at most \(Self.mostFallbacks)")
        }
        for fallback in fallbacks {
            guard !fallback.isEmpty else { throw .limit("fallback: at least 1 character") }
            try Self.check(fallback, "fallback", longest: Self.longestButton)
        }
        let texts = [reason, title ?? "", subtitle ?? ""] + items
        let count = texts.joined().utf8.reduce(0) { $0 + ($1 == UInt8(ascii: "%") ? 3 : 1) }
        guard count <= Self.largestByteCount else {
            throw .limit("title, subtitle, reason and items: at most \(Self.largestByteCount) bytes together")
        }
        guard timeout > .zero, timeout <= Self.longestTimeout else {
            throw .limit("timeout: more than 0 s, at most 300 s")
        }
    }

    private static func check(
        _ text: String,
        _ name: String,
        longest: Int
    ) throws(TouchstoneError) {
        guard text.count <= longest else { throw .limit("\(name): at most \(longest) characters") }
        guard !text.utf8.contains(0) else { throw .limit("\(name): no byte 0") }
    }
}
