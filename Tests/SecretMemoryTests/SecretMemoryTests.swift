import Testing

/// All tests that look at pages after their owner let go, one after another.
///
/// A block that was just given back is the next to be handed out: a test beside them would write to it.
@Suite("Secret memory", .serialized)
enum SecretMemoryTests {}
