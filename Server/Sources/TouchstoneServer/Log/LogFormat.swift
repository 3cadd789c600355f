/// The form of the log's lines.
public enum LogFormat: String, Sendable, CaseIterable {
    /// Time, level, label, metadata, source and message, for people.
    case text
    /// One JSON object per line, for programs.
    case json
}
