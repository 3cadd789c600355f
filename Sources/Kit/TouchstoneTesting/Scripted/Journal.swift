/// The events that several scripted peers recorded, in the order in which they happened.
package final class Journal: Sendable {
    private let lines = Watched<[String]>([])

    /// An empty journal.
    package init() {}

    /// All lines so far.
    package var entries: [String] { lines.update { $0 } }

    /// Appends a line.
    package func note(_ line: String) {
        lines.update { $0.append(line) }
    }

    /// Waits until a line was written the given number of times.
    package func wait(for line: String, times: Int = 1) async {
        _ =
            await lines.wait { lines in
                lines.count(where: { $0 == line }) >= times ? true : nil
            } as Bool
    }
}
