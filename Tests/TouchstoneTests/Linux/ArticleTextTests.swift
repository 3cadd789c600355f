import Foundation
import Testing

extension ArticleTests {
    @Test("every sample of the articles is contained in code compiled here")
    func sameLines() throws {
        let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let root = tests.deletingLastPathComponent().deletingLastPathComponent()
        let compiled = try files(under: tests, "swift").map { lines(try text($0)) }
        var samples = 0
        for module in ["Fronts/Touchstone", "Kit/TouchstoneTesting"] {
            let articles = try files(under: root.appending(path: "Sources/\(module)"), "md")
            #expect(!articles.isEmpty, "\(module)")
            for article in articles {
                for sample in try text(article).components(separatedBy: "```swift\n").dropFirst() {
                    let whole = try #require(sample.components(separatedBy: "\n```").first)
                    // What a page of usual width shows without scrolling.
                    for line in whole.split(separator: "\n") where line.count > 77 {
                        Issue.record("\(article.lastPathComponent): \(line.count) columns: \(line)")
                    }
                    let sample = lines(whole)
                    // Scripts/documentation compiles manifests.
                    if sample.first?.hasPrefix("// swift-tools-version:") == true { continue }
                    let isThere = compiled.contains { file in
                        file.indices.contains { file[$0...].starts(with: sample) }
                    }
                    #expect(isThere, "\(article.lastPathComponent): \(sample.joined(separator: "\n"))")
                    samples += 1
                }
            }
        }
        #expect(samples >= 15)
    }

    /// The lines without indentation, and without empty lines.
    private func lines(_ text: String) -> [Substring] {
        text.split(separator: "\n").map { $0.drop { $0 == " " } }.filter { !$0.isEmpty }
    }

    private func text(_ file: URL) throws -> String { try String(contentsOf: file, encoding: .utf8) }

    private func files(under folder: URL, _ pathExtension: String) throws -> [URL] {
        let all = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
        return all.compactMap { $0 as? URL }.filter { $0.pathExtension == pathExtension }
    }
}
