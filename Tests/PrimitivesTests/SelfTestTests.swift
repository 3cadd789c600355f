import Primitives
import Testing

@Suite("Known-answer self-test")
struct SelfTestTests {
    @Test("every operation gives its published answer")
    func published() throws {
        try SelfTest.run()
    }

    @Test("a wrong answer is detected, whichever byte is wrong", arguments: KnownAnswers.Operation.allCases)
    func wrong(operation: KnownAnswers.Operation) {
        let count = KnownAnswers.published[operation].count
        #expect(count >= 32)
        for place in 0..<count {
            var answers = KnownAnswers.published
            answers[operation][place] ^= 1
            #expect(throws: SelfTest.Failure(operation: operation), "byte \(place)") {
                try SelfTest.run(answers)
            }
        }
    }

    @Test("a missing answer counts as wrong", arguments: KnownAnswers.Operation.allCases)
    func missing(operation: KnownAnswers.Operation) {
        var answers = KnownAnswers.published
        answers[operation] = []
        #expect(throws: SelfTest.Failure(operation: operation)) { try SelfTest.run(answers) }
    }
}
