/// A picture as an image sensor gives it: dark ridges on white, 500 dots per inch.
public struct FingerPicture: Sendable, Equatable {
    /// Pixels in a row.
    public let width: Int
    /// Rows.
    public let height: Int
    /// Grey values, row by row.
    public let pixels: [UInt8]

    /// Describes a picture.
    public init(width: Int, height: Int, pixels: [UInt8]) {
        precondition(pixels.count == width * height, "not a picture of that size")
        self.width = width
        self.height = height
        self.pixels = pixels
    }

    /// A clean glass: no finger at all.
    public static let blank = FingerPicture(
        width: SyntheticFinger.width,
        height: SyntheticFinger.height,
        pixels: Array(repeating: 255, count: SyntheticFinger.width * SyntheticFinger.height)
    )
}
