internal import Foundation

/// Dates in stored JSON: ISO 8601 in UTC, with as many digits as give the same date again; dates outside the years 1 to 9999 as
/// seconds since 2001.
enum DateText {
    /// An encoder that writes them.
    static var encoder: JSONEncoder {
        let encoder = JSONEncoder()
        encoder.dateEncodingStrategy = .custom { date, encoder in
            var container = encoder.singleValueContainer()
            if let text = text(date) {
                try container.encode(text)
            } else {
                try container.encode(date.timeIntervalSinceReferenceDate)
            }
        }
        return encoder
    }

    /// A decoder that reads them, also as earlier versions stored all: as seconds since 2001.
    static var decoder: JSONDecoder {
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .custom { decoder in
            let container = try decoder.singleValueContainer()
            if let seconds = try? container.decode(Double.self) {
                return Date(timeIntervalSinceReferenceDate: seconds)
            }
            guard let date = date(try container.decode(String.self)) else {
                throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a date")
            }
            return date
        }
        return decoder
    }

    /// The years that the form has.
    private static let range =
        Date(timeIntervalSince1970: -62_135_596_800)..<Date(timeIntervalSince1970: 253_402_300_800)

    /// A date as text; nil outside the years 1 to 9999.
    private static func text(_ date: Date) -> String? {
        guard range.contains(date) else { return nil }
        let time = date.timeIntervalSinceReferenceDate
        let whole = time.rounded(.down)
        let text = Date(timeIntervalSinceReferenceDate: whole).formatted(.iso8601)
        // Nine digits are finer than the steps of a date's number.
        let fraction = Int(((time - whole) * 1e9).rounded())
        guard fraction > 0 else { return text }
        let digits = String(1_000_000_000 + min(fraction, 999_999_999)).dropFirst()
        return text.dropLast() + "." + digits + "Z"
    }

    /// The date of a text; nil if it has another form.
    private static func date(_ text: String) -> Date? {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2 else { return nil }
        // The zone may follow a fraction of seconds.
        var (digits, zone): (Substring, Substring) = ("", "")
        if parts.count == 2 {
            digits = parts[1].prefix { $0.isASCII && $0.isNumber }
            zone = parts[1].dropFirst(digits.count)
            guard 1...9 ~= digits.count else { return nil }
        }
        guard let whole = try? Date(String(first + zone), strategy: .iso8601) else { return nil }
        guard let fraction = digits.isEmpty ? 0 : Double("0." + digits) else { return nil }
        return Date(timeIntervalSinceReferenceDate: whole.timeIntervalSinceReferenceDate + fraction)
    }
}
