import RelyingParty
import Testing

@Suite("Passwords")
struct PasswordTests {
    private let cheap = PasswordHash.Cost(ln: 4, r: 1, p: 1)

    @Test("a hash matches its password only, and each hash has its own salt")
    func hashes() throws {
        let one = try PasswordHash(password: "Grüße, 世界", cost: cheap)
        let other = try PasswordHash(password: "Grüße, 世界", cost: cheap)
        #expect(one.description != other.description)
        #expect(try one.matches("Grüße, 世界"))
        #expect(try !one.matches("Grusse, 世界"))
        #expect(try !one.matches(""))
        #expect(PasswordHash(one.description) == one)
        #expect(one.needsRehash())
        #expect(!one.needsRehash(cheap))
    }

    @Test("another Unicode normal form or space character gives the same password")
    func normalised() throws {
        let hash = try PasswordHash(password: "caf\u{E9}\u{A0}au lait", cost: cheap)
        #expect(try hash.matches("cafe\u{301} au lait"))
    }

    @Test(
        "a malformed hash, or one with excessive cost, is refused before any work",
        arguments: [
            "", "$scrypt$", "$scrypt$ln=15,r=8,p=3$AAECAwQFBgcICQoLDA0ODw$",
            "$argon2id$v=19$m=1,t=1,p=1$AAAA$AAAA",
            "$scrypt$ln=40,r=8,p=1$AAECAwQFBgcICQoLDA0ODw$mLgqC+Pe9z8On6qQQTbJtNBXvsRfVdPE70gxxSsltbM",
            "$scrypt$ln=15,r=8,p=300$AAECAwQFBgcICQoLDA0ODw$mLgqC+Pe9z8On6qQQTbJtNBXvsRfVdPE70gxxSsltbM",
            "$scrypt$r=8,ln=15,p=3$AAECAwQFBgcICQoLDA0ODw$mLgqC+Pe9z8On6qQQTbJtNBXvsRfVdPE70gxxSsltbM",
            "$scrypt$ln=15,r=8,p=3,x=1$AAECAwQFBgcICQoLDA0ODw$mLgqC+Pe9z8On6qQQTbJtNBXvsRfVdPE70gxxSsltbM",
            "$scrypt$ln=15,r=8,p=3$AAECAwQFBgcICQoLDA0ODw==$mLgqC+Pe9z8On6qQQTbJtNBXvsRfVdPE70gxxSsltbM=",
        ]
    )
    func refused(_ text: String) {
        #expect(PasswordHash(text) == nil)
    }

    @Test("delays grow with each failure, up to a hundred failures")
    func ladder() {
        var last = Duration.zero
        for count in 1..<ThrottleLadder.mostFailures {
            guard let delay = ThrottleLadder.delay(afterFailures: count) else {
                Issue.record("no delay after \(count)")
                return
            }
            #expect(delay >= last)
            last = delay
        }
        #expect(ThrottleLadder.delay(afterFailures: 0) == .zero)
        #expect(ThrottleLadder.delay(afterFailures: ThrottleLadder.mostFailures) == nil)
    }

    @Test("the pool limits running and waiting derivations, and refuses more at once")
    func pool() async throws {
        let pool = DerivationPool(threads: 2, waiting: 3)
        let gate = Gate()
        let running = RunningCount()
        try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<5 {
                group.addTask {
                    try await pool.run {
                        running.begin()
                        gate.wait()
                        running.end()
                        return number
                    }
                }
            }
            while pool.depth < 5 { await Task.yield() }
            await #expect(throws: DerivationPool.Overloaded.self) { _ = try await pool.run { 5 } }
            gate.open()
            var results: Set<Int> = []
            for try await number in group { results.insert(number) }
            #expect(results == [0, 1, 2, 3, 4])
        }
        #expect(running.most <= 2)
        #expect(pool.depth == 0)
        #expect(try await pool.run { 7 } == 7)
        await #expect(throws: CancellationError.self) {
            let _: Int = try await pool.run { throw CancellationError() }
        }
    }
}
