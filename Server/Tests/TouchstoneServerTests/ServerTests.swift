import Testing

/// Parent of the server's suites: serialized, because password hashing is expensive and limits depend on the clock.
@Suite("The server", .serialized)
enum ServerTests {}
