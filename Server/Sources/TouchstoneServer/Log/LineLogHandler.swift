@preconcurrency internal import Glibc
public import Logging

/// Writes each message as one line, in the form of the setting `log-format`.
///
/// The metadata is formatted when a message is logged, not when it is set.
public struct LineLogHandler: LogHandler {
    /// The minimum level of logged messages.
    public var logLevel = Logger.Level.info
    /// The metadata of all messages.
    public var metadata: Logger.Metadata = [:]
    /// Provides metadata of the current task.
    public var metadataProvider: Logger.MetadataProvider?

    private let label: String
    private let format: LogFormat
    private let write: @Sendable (String) -> Void

    /// Creates a handler.
    ///
    /// - Parameters:
    ///   - label: the logger's label.
    ///   - format: the form of the lines.
    ///   - write: writes a line, which has its end.
    public init(
        label: String,
        format: LogFormat,
        write: @escaping @Sendable (String) -> Void = StandardError.write
    ) {
        self.label = label
        self.format = format
        self.write = write
    }

    /// Reads or sets a value of ``metadata``.
    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// Writes a message.
    public func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { _, new in new } }
        if let given = event.metadata { all.merge(given) { _, new in new } }
        if let error = event.error {
            all["error.message"] = "\(error)"
            all["error.type"] = "\(String(reflecting: type(of: error)))"
        }
        switch format {
        case .text: write(textLine(event, all))
        case .json: write(jsonLine(event, all))
        }
    }

    private func textLine(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        var line = "\(UTCTime.now.rfc3339) \(event.level) \(label):"
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) { line += " \(key)=\(value)" }
        return LogEscapes.text("\(line) [\(event.source)] \(event.message)") + "\n"
    }

    private func jsonLine(_ event: LogEvent, _ metadata: Logger.Metadata) -> String {
        let members = [
            ("time", LogEscapes.quoted(UTCTime.now.rfc3339)),
            ("level", LogEscapes.quoted(event.level.rawValue)),
            ("label", LogEscapes.quoted(label)), ("message", LogEscapes.quoted("\(event.message)")),
            ("metadata", Self.json(metadata)),
        ]
        return "{\(members.map { "\"\($0)\":\($1)" }.joined(separator: ","))}\n"
    }

    private static func json(_ metadata: Logger.Metadata) -> String {
        let members = metadata.sorted { $0.key < $1.key }.map { "\(LogEscapes.quoted($0)):\(json($1))" }
        return "{\(members.joined(separator: ","))}"
    }

    /// A value as JSON: whole numbers are numbers, everything else without a structure is a string.
    private static func json(_ value: Logger.MetadataValue) -> String {
        switch value {
        case .dictionary(let values): json(values)
        case .array(let values): "[\(values.map(json).joined(separator: ","))]"
        case .stringConvertible(let number as Int): "\(number)"
        case .string(let text): LogEscapes.quoted(text)
        case .stringConvertible(let value): LogEscapes.quoted("\(value)")
        }
    }
}

/// The standard error of the process.
public enum StandardError {
    /// Writes a line in one piece if the system takes it so; lines of several threads do not mix.
    public static let write: @Sendable (String) -> Void = { line in
        var line = line
        line.withUTF8 { bytes in
            flockfile(stderr)
            defer { funlockfile(stderr) }
            fwrite(bytes.baseAddress, 1, bytes.count, stderr)
            fflush(stderr)
        }
    }
}
