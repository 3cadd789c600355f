import Testing

/// Parent of the tests that inspect pages after their owner is released; serialized.
///
/// A freed block is the next to be allocated: a concurrent test would write to it.
@Suite("Secret memory", .serialized)
enum SecretMemoryTests {}
