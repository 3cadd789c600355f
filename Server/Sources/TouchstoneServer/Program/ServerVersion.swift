/// The version of the program.
public enum ServerVersion {
    /// As it is printed.
    public static let text = "0.1.0"
}
