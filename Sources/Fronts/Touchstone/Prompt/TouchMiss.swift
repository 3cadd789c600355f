/// A touch that the sensor did not accept, while its prompt stays.
///
/// ```swift
/// let handler = TouchMiss.Handler { miss in
///     if miss.reason == .offCentre { hint("Use the middle of the sensor.") }
/// }
/// let proof = try await Keychain.current.authenticate("Show your notes", onMiss: handler)
/// ```
///
/// Only the program whose prompt it is learns of it. Apple's systems report no misses.
public struct TouchMiss: Sendable, Hashable {
    /// Why a touch did not count; later versions may add reasons.
    public struct Reason: RawRepresentable, Sendable, Hashable {
        /// The reason's name, such as `noMatch`.
        public let rawValue: String
        /// Accepts any name.
        public init(rawValue: String) { self.rawValue = rawValue }

        private init(_ name: String) { self.init(rawValue: name) }

        /// The finger is none of the enrolled ones.
        public static let noMatch = Self("noMatch")
        /// The swipe was too short.
        public static let tooShort = Self("tooShort")
        /// The finger was not on the middle of the sensor.
        public static let offCentre = Self("offCentre")
        /// The finger has to be lifted and put down again.
        public static let lift = Self("lift")
        /// The finger could not be read.
        public static let unreadable = Self("unreadable")
    }

    /// What is called for each miss at a prompt.
    ///
    /// It is a type of its own, so that a closure behind a call of ``Keychain/authenticate(_:using:onMiss:)`` does not compile: it
    /// could be meant for what follows a success.
    public struct Handler: Sendable {
        let handle: @Sendable (TouchMiss) -> Void

        /// Makes a handler.
        ///
        /// - Parameter handle: Called on any thread, which it must not block.
        public init(_ handle: @escaping @Sendable (TouchMiss) -> Void) { self.handle = handle }
    }

    /// The number of this miss in its prompt, from 1; a greater step means that misses were not read in time.
    public let count: Int
    /// Why the touch did not count.
    public let reason: Reason

    init(count: Int, reason: Reason) {
        self.count = count
        self.reason = reason
    }
}
