/// A picture as an image sensor gives it: dark ridges on white, 500 dots per inch.
package struct FingerPicture: Sendable, Equatable {
    /// Pixels in a row.
    package let width: Int
    /// Rows.
    package let height: Int
    /// Grey values, row by row.
    package let pixels: [UInt8]

    /// Describes a picture.
    package init(width: Int, height: Int, pixels: [UInt8]) {
        precondition(pixels.count == width * height, "not a picture of that size")
        self.width = width
        self.height = height
        self.pixels = pixels
    }

    /// A clean glass: no finger at all.
    package static let blank = FingerPicture(
        width: SyntheticFinger.width,
        height: SyntheticFinger.height,
        pixels: Array(repeating: 255, count: SyntheticFinger.width * SyntheticFinger.height)
    )
}
