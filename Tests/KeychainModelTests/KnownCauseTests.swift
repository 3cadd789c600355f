import KeychainModel
import Testing

@Suite("Known causes")
struct KnownCauseTests {
    @Test(
        "a known cause is recognised from its sent and its logged form, with and without a detail",
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

    @Test("a cause with the same beginning is not confused with it, and an unknown one is kept")
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

    @Test("the prompt's causes have the names of the prompt's errors")
    func prompts() {
        for code in [PromptError.Code.prompterMissing, .inBackground, .prompterFailed, .noAgent, .undrawable]
        {
            #expect(DriverCause(domain: "prompt", code: code.rawValue).known != nil)
        }
    }
}
