import Testing
import Touchstone

@testable import TouchstoneLogin

@Suite("Step-up challenges")
struct StepUpDemandTests {
    @Test(
        "challenges of RFC 9470 are parsed",
        arguments: [
            ("Bearer error=\"insufficient_user_authentication\"", []),
            (
                "Bearer realm=\"a, b=c\", error=\"insufficient_user_authentication\", acr_values=\"x y\", max_age=5",
                ["x", "y"]
            ),
            (
                "Bearer error=\"insufficient_user_authentication\", error_description=\"say \\\"x\\\"\", ACR_VALUES=phr",
                ["phr"]
            ),
        ] as [(String, [String])]
    )
    func parsing(header: String, contexts: [String]) throws {
        #expect(try StepUpDemand(header).contexts == contexts)
    }

    @Test(
        "other headers are not step-up challenges",
        arguments: ["", "Bearer", "error", "Basic realm=\"", "error=\"x"]
    )
    func noDemand(header: String) {
        #expect(throws: TouchstoneError(.limitExceeded)) { try StepUpDemand(header) }
    }
}
