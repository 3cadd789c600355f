import KeychainModel
import Testing

@Suite("The time of a context, in its number")
struct ContextLifetimeTests {
    @Test(
        "is rounded up to milliseconds and bounded, and no time is no limit",
        arguments: [
            (Duration.zero, Duration?.none), (.seconds(-1), nil), (.nanoseconds(1), .milliseconds(1)),
            (.milliseconds(1), .milliseconds(1)), (.microseconds(1001), .milliseconds(2)),
            (.seconds(300), .seconds(300)), (.milliseconds(8_388_607), .milliseconds(8_388_607)),
            (.milliseconds(8_388_608), .milliseconds(8_388_607)),
            (.seconds(Int64.max), .milliseconds(8_388_607)),
        ]
    )
    func times(time: Duration, kept: Duration?) {
        for counter: UInt64 in [1, 2, 1 << 39, 1 << 40 - 1] {
            let number = ContextLifetime.number(counter, lasting: time)
            #expect(ContextLifetime.of(number) == kept)
            #expect(ContextLifetime.counter(of: number) == counter)
            #expect(number < 1 << 63, "the others are the daemon's own")
        }
    }

    @Test("a counter beyond 40 bits is no time")
    func wrapped() {
        #expect(ContextLifetime.number(1 << 40 + 7, lasting: .zero) == 7)
        #expect(ContextLifetime.of(.max) == .milliseconds(8_388_607))
    }
}
