import Logging

/// Writes each event as one line: time, level, message, then the fields sorted by name.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    private let sink: LogSink

    init(sink: LogSink, level: Logger.Level) {
        self.sink = sink
        logLevel = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var fields = metadata
        if let more = event.metadata { fields.merge(more) { $1 } }
        var line =
            "\(LogLine.timestamp()) \(event.level.rawValue) \(LogLine.plain(event.message.description))"
        for (key, value) in fields.sorted(by: { $0.key < $1.key }) {
            line += " \(LogLine.plain(key))=\(LogLine.quoted("\(value)"))"
        }
        sink.write(line)
    }
}
