internal import Foundation

/// The colour of the account page's buttons, links and focus: a colour that the administrator chose, made darker for the light
/// page and lighter for the dark one as far as text needs it.
public struct PageColour: Sendable, Equatable {
    /// As `page-colour` has it.
    let chosen: RGB

    /// Reads `#rrggbb`.
    ///
    /// - Returns: nil for another form.
    init?(_ text: String) {
        guard text.utf8.count == 7, text.hasPrefix("#"), text.dropFirst().allSatisfy(\.isHexDigit),
            let number = UInt32(text.dropFirst(), radix: 16)
        else { return nil }
        chosen = RGB(
            red: Double(number >> 16),
            green: Double(number >> 8 & 0xFF),
            blue: Double(number & 0xFF)
        )
    }

    /// As `page-colour` has it, in lower case.
    var text: String { chosen.text }

    /// The colours of one scheme, as variables of `page.css`.
    struct Scheme: Sendable, Equatable {
        /// Buttons, links, focus.
        var accent: RGB
        /// The same under the pointer, and text on ``soft``.
        var strong: RGB
        /// Text on ``accent`` and ``strong``.
        var text: RGB
        /// The ground of marks and of buttons without an edge under the pointer.
        var soft: RGB

        /// The declarations of `page.css`.
        var declarations: String {
            "--accent: \(accent.text); --accent-strong: \(strong.text); --on-accent: \(text.text); "
                + "--accent-soft: \(soft.text);"
        }
    }

    /// The least contrast of text (WCAG 2.2, 1.4.3).
    static let leastContrast = 4.5

    /// The colours on the light page.
    var light: Scheme {
        scheme(
            towards: .black,
            text: .white,
            ground: .lightGround,
            surface: .white,
            softness: 0.1,
            strength: 0.3
        )
    }

    /// The colours on the dark page.
    var dark: Scheme {
        scheme(
            towards: .white,
            text: .darkGround,
            ground: .darkGround,
            surface: .darkSurface,
            softness: 0.18,
            strength: 0.35
        )
    }

    /// The rules that take the place of those of `page.css`.
    var style: String {
        """

        :root { \(light.declarations) }

        @media (prefers-color-scheme: dark) {
          :root { \(dark.declarations) }
        }

        """
    }

    /// Mixes in so little of black or white that the colour is text on every ground of the page, and a ground of text.
    private func scheme(
        towards end: RGB,
        text: RGB,
        ground: RGB,
        surface: RGB,
        softness: Double,
        strength: Double
    ) -> Scheme {
        var scheme = Scheme(accent: chosen, strong: chosen, text: text, soft: surface)
        for step in 0...100 {
            let accent = chosen.mixed(with: end, Double(step) / 100)
            let soft = surface.mixed(with: accent, softness)
            scheme = Scheme(
                accent: accent,
                strong: accent.mixed(with: end, strength),
                text: text,
                soft: soft
            )
            let least = [ground, surface, soft, text].map(accent.contrast(with:)).min() ?? 0
            if least >= Self.leastContrast { break }
        }
        return scheme
    }
}

/// A colour in sRGB, its channels whole numbers from 0 to 255.
struct RGB: Sendable, Equatable {
    var red: Double
    var green: Double
    var blue: Double

    static let black = RGB(red: 0, green: 0, blue: 0)
    static let white = RGB(red: 255, green: 255, blue: 255)
    // `--ground` and `--surface` of page.css.
    static let lightGround = RGB(red: 0xF4, green: 0xF5, blue: 0xF7)
    static let darkGround = RGB(red: 0x0E, green: 0x11, blue: 0x15)
    static let darkSurface = RGB(red: 0x18, green: 0x1C, blue: 0x22)

    private var channels: [Double] { [red, green, blue] }

    /// As CSS writes it: `#rrggbb`.
    var text: String {
        "#"
            + channels.map { channel in
                let digits = String(Int(channel), radix: 16)
                return digits.count == 1 ? "0\(digits)" : digits
            }.joined()
    }

    /// This colour with a share of another.
    func mixed(with other: RGB, _ share: Double) -> RGB {
        func mix(_ one: Double, _ two: Double) -> Double { (one + (two - one) * share).rounded() }
        return RGB(red: mix(red, other.red), green: mix(green, other.green), blue: mix(blue, other.blue))
    }

    /// The relative luminance (WCAG 2.2).
    private var luminance: Double {
        let linear = channels.map { channel in
            let part = channel / 255
            return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    /// The contrast ratio, from 1 to 21.
    func contrast(with other: RGB) -> Double {
        let (one, two) = (luminance, other.luminance)
        return (max(one, two) + 0.05) / (min(one, two) + 0.05)
    }
}
