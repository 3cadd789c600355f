import Foundation

/// The size of a test case: small in every run, full with `TOUCHSTONE_FULL_SIZE=1` in the environment.
package enum CaseSize {
    /// Whether this run uses full sizes.
    package static let isFull = ProcessInfo.processInfo.environment["TOUCHSTONE_FULL_SIZE"] == "1"

    /// The size for this run.
    package static func of<Size>(_ usual: Size, full: Size) -> Size { isFull ? full : usual }
}
