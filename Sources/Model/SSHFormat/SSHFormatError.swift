/// The bytes are not what they should be.
///
/// One error for every reason: nothing depends on which it was, and the sender of the bytes learns nothing.
package struct SSHFormatError: Error, Equatable, Sendable {
    /// Creates the error.
    package init() {}
}
