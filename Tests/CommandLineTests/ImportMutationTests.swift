import Foundation
import KeychainModel
import ScriptedDaemon
import Testing
import TouchstoneTesting

@Suite(
    "Damaged exports",
    .enabled(if: RealKeychain.isPossible, "touchstone and touchstoned are not both built")
)
struct ImportMutationTests {
    private static let samples = [
        "keepassxc": ImportSamples.keepassxc, "bitwarden": ImportSamples.bitwarden, "cxf": ImportSamples.cxf,
        "chrome": ImportSamples.chrome, "firefox": ImportSamples.firefox,
        "1password": ImportSamples.onePassword,
    ]
    /// What parsers decide by.
    private static let special = Array("<>&;\"\\{}[],:/!-?#=u0\n\r".utf8) + [0, 0x80, 0xC3, 0xFF]

    /// A generator whose numbers are the same in each run (Knuth's MMIX).
    private struct Generator: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state >> 32 | state << 32
        }
    }

    @Test(
        "an export with bytes changed, removed, inserted or cut off is imported or refused, and nothing of it ends the command",
        .timeLimit(.minutes(CaseSize.of(10, full: 60))),
        arguments: samples.keys.sorted()
    )
    func damaged(format: String) async throws {
        let keychain = try await RealKeychain.ready()
        let whole = Array(try #require(Self.samples[format]).utf8)
        var generator = Generator(state: UInt64(whole.count))
        var statuses: [Int32: Int] = [:]
        for number in 0..<CaseSize.of(20, full: 1000) {
            var octets = whole
            for _ in 0...Int.random(in: 0...2, using: &generator) {
                let place = Int.random(in: octets.indices, using: &generator)
                let octet = Self.special.randomElement(using: &generator) ?? 0
                switch Int.random(in: 0...4, using: &generator) {
                case 0: octets[place] = octet
                case 1: octets.insert(octet, at: place)
                case 2: octets.remove(at: place)
                case 3: octets[place] ^= 1 << UInt8.random(in: 0...7, using: &generator)
                default:
                    if octets.count > 100 { octets.removeLast(Int.random(in: 1...20, using: &generator)) }
                }
            }
            let options = ["--format", format, "--prefix", "\(number)/"]
            let result = try await keychain.importing(octets: octets, options)
            let status = try #require(result.status, "signal \(result.signal ?? 0) for \(octets)")
            statuses[status, default: 0] += 1
            #expect([0, 1].contains(status), "\(status): \(result.errors)")
        }
        // Some of them are damaged where it matters, and some where it does not.
        #expect(statuses.count == 2, "\(statuses)")
    }
}
