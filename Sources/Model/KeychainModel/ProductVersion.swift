/// The version of this Touchstone; the command and the daemon always have the same.
///
/// `Scripts/version` changes it, here and wherever else it is stated.
public enum ProductVersion {
    /// A version of semver.org 2.0.0, such as "1.2.3".
    public static let text = "0.2.0"
}
