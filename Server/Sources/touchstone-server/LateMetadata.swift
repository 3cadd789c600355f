internal import Logging

/// Formats metadata when a message is logged, not when it is set: the framework sets metadata for each request, but
/// hardly any request logs a message.
struct LateMetadata: LogHandler {
    private var handler: StreamLogHandler
    var metadata: Logger.Metadata = [:]

    init(_ handler: StreamLogHandler) { self.handler = handler }

    var logLevel: Logger.Level {
        get { handler.logLevel }
        set { handler.logLevel = newValue }
    }

    var metadataProvider: Logger.MetadataProvider? {
        get { handler.metadataProvider }
        set { handler.metadataProvider = newValue }
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var event = event
        if !metadata.isEmpty {
            event.metadata = metadata.merging(event.metadata ?? [:]) { _, explicit in explicit }
        }
        handler.log(event: event)
    }
}
