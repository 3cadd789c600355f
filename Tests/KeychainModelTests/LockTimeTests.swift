import KeychainModel
import Testing

@Suite("Times until a lock")
struct LockTimeTests {
    @Test(
        "a whole number and a unit, with a blank or without",
        arguments: [
            ("1s", 1), ("90 s", 90), ("20min", 1_200), ("15 \t min", 900), ("8h", 28_800), ("168 h", 604_800),
            ("604800s", 604_800), ("007min", 420),
        ]
    )
    func right(text: String, seconds: Int) throws {
        #expect(try LockTime.seconds(text) == seconds)
    }

    @Test(
        "everything else is refused",
        arguments: [
            "", "s", "10", "min", "1.5h", "-1s", "+1s", " 1s", "1s ", "1m", "1 day", "1H", "1h30min", "0x1s",
            "1000000s", "٣s", "1s\n", "99999999999999999999h",
        ]
    )
    func malformed(text: String) {
        #expect(throws: LockTime.Fault.malformed) { try LockTime.seconds(text) }
    }

    @Test(
        "nothing, and more than a week, are out of range",
        arguments: ["0s", "0h", "604801s", "169h", "999999h"]
    )
    func outOfRange(text: String) {
        #expect(throws: LockTime.Fault.outOfRange) { try LockTime.seconds(text) }
    }
}
