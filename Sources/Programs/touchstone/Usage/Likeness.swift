/// Finds the word that a mistyped one stands for.
enum Likeness {
    /// The word that begins with the typed text, or the nearest one with at most two typing errors; nil for none.
    static func nearest(to typed: String, among words: [String]) -> String? {
        if let word = words.first(where: { typed.count > 1 && $0.hasPrefix(typed) }) { return word }
        // Lengths that differ by more than two mean more than two typing errors.
        let near = words.filter { abs($0.count - typed.count) <= 2 }
        let ranked = near.map { (word: $0, slips: slips(Array(typed), Array($0))) }
        guard let best = ranked.min(by: { $0.slips < $1.slips }) else { return nil }
        return best.slips <= 2 && best.slips < typed.count - 1 ? best.word : nil
    }

    /// The number of letters omitted, added, changed, or swapped with the next one.
    private static func slips(_ typed: [Character], _ word: [Character]) -> Int {
        var rows = [Array(0...word.count)]
        for (line, letter) in typed.enumerated() {
            var row = [line + 1]
            for (column, other) in word.enumerated() {
                var least = min(rows[line][column + 1], row[column]) + 1
                least = min(least, rows[line][column] + (letter == other ? 0 : 1))
                if line > 0, column > 0, letter == word[column - 1], typed[line - 1] == other {
                    least = min(least, rows[line - 1][column - 1] + 1)
                }
                row.append(least)
            }
            rows.append(row)
        }
        return rows[typed.count][word.count]
    }
}
