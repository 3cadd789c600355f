import Foundation

/// How large a case is tried: small in every run, in full where the environment has `TOUCHSTONE_FULL_SIZE=1`.
package enum CaseSize {
    /// Whether this run takes the time for all of it.
    package static let isFull = ProcessInfo.processInfo.environment["TOUCHSTONE_FULL_SIZE"] == "1"

    /// The size for this run.
    package static func of<Size>(_ usual: Size, full: Size) -> Size { isFull ? full : usual }
}
