import Testing

/// One server at a time: passwords cost what they cost, and limits look at the clock.
@Suite("The server", .serialized)
enum ServerTests {}
