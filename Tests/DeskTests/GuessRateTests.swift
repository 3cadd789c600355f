import KeychainModel
import SecretMemory
import Testing

@testable import Desk

@Suite("Secrets compared without opening an item")
struct GuessRateTests {
    @Test(
        "twenty wrong guesses are free, then one every six seconds; waiting longer gives no more than twenty"
    )
    func rate() throws {
        let time = Guarded(ContinuousClock.now)
        let rate = GuessRate { time.withLock(\.self) }
        func pass(_ duration: Duration) { time.withLock { $0 += duration } }
        func freeGuesses() -> Int {
            var count = 0
            while count < 100, (try? rate.check()) != nil {
                rate.note(wrong: 1)
                count += 1
            }
            return count
        }
        #expect(freeGuesses() == 20)
        let error = #expect(throws: KeychainError.self) { try rate.check() }
        #expect(error?.status == .notAvailable && error?.cause == DriverCause(.guessRate))
        pass(.milliseconds(5999))
        #expect(freeGuesses() == 0)
        pass(.milliseconds(1))
        #expect(freeGuesses() == 1)
        // The rest of a pause counts for the next guess.
        pass(.seconds(9))
        #expect(freeGuesses() == 1)
        pass(.seconds(3))
        #expect(freeGuesses() == 1)
        pass(.seconds(6000))
        #expect(freeGuesses() == 20)
    }

    @Test("right guesses and several wrong ones of one call are counted as they are")
    func counts() throws {
        let rate = GuessRate()
        for _ in 0..<100 {
            try rate.check()
            rate.note(wrong: 0)
        }
        rate.note(wrong: 21)
        #expect(throws: KeychainError.self) { try rate.check() }
    }
}
