internal import Foundation

/// Unicode's normal form C.
enum NormalForm {
    /// The bytes of a text in that form, in UTF-8.
    static func composed(_ text: String) -> [UInt8] { Array(text.precomposedStringWithCanonicalMapping.utf8) }
}
