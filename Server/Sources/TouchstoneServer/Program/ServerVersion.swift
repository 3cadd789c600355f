/// The version of the program.
public enum ServerVersion {
    /// The version as text.
    public static let text = "0.2.0"
}
