/// The version of Touchstone that this is a part of: command and daemon are always of the same one.
///
/// `Scripts/version` changes it, here and wherever else it is told.
public enum ProductVersion {
    /// A version of semver.org 2.0.0, such as "1.2.3".
    public static let text = "0.1.0"
}
