import Foundation

/// The seeds on disk: a directory for each target, and a file `seed-NNN` for each input.
enum SeedFiles {
    /// Rewrites the seeds of all targets; other files stay.
    static func write(to directory: String) throws {
        for target in FuzzTargets.all {
            let place = URL(filePath: directory).appending(path: target.name)
            try FileManager.default.createDirectory(at: place, withIntermediateDirectories: true)
            for file in try FileManager.default.contentsOfDirectory(atPath: place.path)
            where file.hasPrefix("seed-") {
                try FileManager.default.removeItem(at: place.appending(path: file))
            }
            var count = 0
            for seed in unique(target.seeds()) {
                let digits = String(count)
                let name = "seed-" + String(repeating: "0", count: max(0, 3 - digits.count)) + digits
                try Data(seed).write(to: place.appending(path: name))
                count += 1
            }
            print("\(target.name): \(count)")
        }
    }

    private static func unique(_ seeds: [[UInt8]]) -> [[UInt8]] {
        var seen: Set<[UInt8]> = []
        return seeds.filter { seen.insert($0).inserted }
    }
}
