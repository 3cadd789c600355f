/// What several scripted peers saw, in the order in which it happened.
package final class Journal: Sendable {
    private let lines = Watched<[String]>([])

    /// An empty journal.
    package init() {}

    /// Everything so far.
    package var entries: [String] { lines.update { $0 } }

    /// Writes a line.
    package func note(_ line: String) {
        lines.update { $0.append(line) }
    }

    /// Waits until a line has been written so many times.
    package func wait(for line: String, times: Int = 1) async {
        _ =
            await lines.wait { lines in
                lines.count(where: { $0 == line }) >= times ? true : nil
            } as Bool
    }
}
