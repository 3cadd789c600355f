import KeychainModel
import Testing

@Suite("A known cause")
struct KnownCauseTests {
    @Test(
        "is found again by what is sent and logged of it, with and without a detail",
        arguments: KnownCause.allCases
    )
    func reading(cause: KnownCause) {
        let sent = DriverCause(cause)
        #expect("\(sent.domain): \(sent.code)" == cause.rawValue)
        #expect(!sent.domain.isEmpty && !sent.code.isEmpty)
        #expect(DriverCause(domain: sent.domain, code: sent.code).known == cause)
        #expect(sent.detail == nil)
        let detailed = DriverCause(cause, detail: "a: b")
        #expect(detailed.code == sent.code + ": a: b")
        #expect(DriverCause(domain: detailed.domain, code: detailed.code).known == cause)
        #expect(detailed.detail == "a: b")
    }

    @Test("is no other one that begins alike, and what nobody knows survives")
    func others() {
        for (domain, code) in [
            ("sqlite", "13"), ("keybag", "lockedout"), ("keybag", ""), ("", "locked"), ("tpm", "another"),
            ("touchstone", "connectionLostx: y"), ("fprintd", "NoSuchDevice: x"), ("keybag: locked", ""),
        ] {
            let cause = DriverCause(domain: domain, code: code)
            #expect(cause.known == nil, "\(domain): \(code)")
            #expect(cause.detail == nil)
            #expect(cause.domain == domain && cause.code == code)
        }
    }

    @Test("of the prompt is named as the prompt's errors are")
    func prompts() {
        for code in [PromptError.Code.prompterMissing, .inBackground, .prompterFailed, .noAgent] {
            #expect(DriverCause(domain: "prompt", code: code.rawValue).known != nil)
        }
    }
}
