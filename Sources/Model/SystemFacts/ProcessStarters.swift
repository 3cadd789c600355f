import Glibc
import KeychainModel

/// The programs that started a process, as the kernel knows its parents now.
///
/// A hint: a process chooses its own name, and one whose parent has ended belongs to the service manager.
package enum ProcessStarters {
    /// The most parents that are shown.
    private static let mostShown = 4
    /// The most parents that are looked at.
    private static let most = 32
    /// The longest name of a program's file that is shown, in characters; the kernel's other name has at most 15.
    private static let longest = 32

    /// The names of a process.
    private struct Names {
        /// That of its program's file, where the kernel reveals it.
        let file: String?
        /// The one that it chose, or that the kernel took from the program's file.
        let chosen: String
    }

    /// The names of at most four programs, the nearest first, separated by ", "; empty if there are none.
    ///
    /// A name is that of the program's file, where the kernel reveals it, and in parentheses the one that the process gave itself.
    ///
    /// - Parameters:
    ///   - process: the pid.
    ///   - start: when the process started, in clock ticks since boot; nothing is told of another process of this number.
    /// - Returns: the names.
    package static func text(of process: Int32, startedAt start: UInt64) -> String {
        chain(of: process, startedAt: start, atMost: mostShown).dropFirst().map { names in
            let chosen = printable(names.chosen[...])
            guard let file = names.file.map({ printable($0.prefix(longest)) }) else { return chosen }
            // The kernel cuts the name of a program that chose none.
            return file.hasPrefix(chosen) ? file : "\(file) (\(chosen))"
        }.joined(separator: ", ")
    }

    /// The names of a process and of those that started it, as they are.
    package static func names(of process: Int32, startedAt start: UInt64) -> Set<String> {
        Set(
            chain(of: process, startedAt: start, atMost: most).flatMap {
                [$0.chosen] + ($0.file.map { [$0] } ?? [])
            }
        )
    }

    /// The process, and its parents from the nearest on.
    private static func chain(of process: Int32, startedAt start: UInt64, atMost most: Int) -> [Names] {
        guard let stat = ProcessStat(of: process), stat.start == start, let own = names(of: process) else {
            return []
        }
        var chain = [own]
        var (next, child) = (stat.parent, stat)
        // The service manager, which started everything, says nothing.
        while next > 1, chain.count <= most, let parent = ProcessStat(of: next), parent.start <= child.start,
            let names = names(of: next)
        {
            chain.append(names)
            (next, child) = (parent.parent, parent)
        }
        return chain
    }

    private static func names(of process: Int32) -> Names? {
        guard let own = try? SmallFile.text("/proc/\(process)/comm", atMost: 64) else { return nil }
        let path = (try? ProgramPath.ofLink("/proc/\(process)/exe", in: AT_FDCWD)) ?? nil
        return Names(
            file: path?.split(separator: "/").last.map(String.init),
            chosen: own.hasSuffix("\n") ? String(own.dropLast()) : own
        )
    }

    /// The name with `?` for each character that could end it or be shown as another one.
    private static func printable(_ name: Substring) -> String {
        String(
            String.UnicodeScalarView(
                name.unicodeScalars.map { scalar in
                    let isPlain =
                        scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
                    return isPlain || "-_.+:@".unicodeScalars.contains(scalar) ? scalar : "?"
                }
            )
        )
    }
}
