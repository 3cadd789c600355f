import AuthenticationEngine
import Desk
import KeychainModel
import Testing
import TouchstoneTesting

@Suite("Prompts for application passwords", .timeLimit(.minutes(20)))
struct ApplicationPasswordTests {
    private static let word = PasswordCaller.word

    /// A caller with what `call` needs.
    private func caller(for call: PasswordCall) async throws -> PasswordCaller {
        let caller = try await PasswordCaller()
        if !call.seals { try await caller.prepare() }
        if call == .protect { try await caller.addPlain("ada") }
        return caller
    }

    @Test("a call that lacks a new password asks for it twice, and it alone opens what was sealed")
    func sealing() async throws {
        for call in PasswordCall.sealing {
            let caller = try await caller(for: call)
            let before = caller.boxes.count
            caller.world.prompter.will(.type(Self.word))
            try await caller.make(call)
            try #require(caller.boxes.count == before + 1, "\(call)")
            let box = caller.boxes[before]
            #expect(box.input == .newSecret && box.judge == nil && box.error == nil)
            #expect(box.fieldLabel == "Application password:" && box.reason == "a test")
            #expect(box.requester.hasPrefix("/usr/bin/app"))
            try await caller.set(Self.word, in: 7)
            let opening: PasswordCall = call == .makeKey ? .useKey : .read
            #expect(try await caller.make(opening, context: 7, mayAsk: false).count == 1, "\(call)")
            try await caller.set("another", in: 7)
            let error = await #expect(throws: KeychainError(.authFailed), "\(call)") {
                try await caller.make(opening, context: 7)
            }
            #expect(error?.cause == .applicationPasswordWrong)
            #expect(caller.boxes.count == before + 1, "what the app set is not asked for")
        }
    }

    @Test("a call that lacks the password of what it opens asks for it, again after a wrong one")
    func opening() async throws {
        for call in PasswordCall.opening {
            let caller = try await caller(for: call)
            let before = caller.boxes.count
            caller.world.prompter.will(.type("simsim"), .type(DeskWorld.passcode), .type(Self.word))
            try await caller.make(call)
            try #require(caller.boxes.count == before + 3, "\(call)")
            let boxes = caller.boxes[before...]
            #expect(boxes.allSatisfy { $0.input == .secret && $0.fieldLabel == "Application password:" })
            let again = "This is not its application password."
            #expect(boxes.map(\.error) == [nil, again, again])
            #expect(boxes.allSatisfy { $0.heading.contains("not the keychain's passcode") })
        }
    }

    @Test("three wrong passwords end a call, and the next one asks anew")
    func wrong() async throws {
        for call in PasswordCall.opening {
            let caller = try await caller(for: call)
            let before = caller.boxes.count
            caller.world.prompter.will(.type("a"), .type("b"), .type("c"))
            let error = await #expect(throws: KeychainError(.authFailed), "\(call)") {
                try await caller.make(call, context: 7)
            }
            #expect(error?.cause == .applicationPasswordWrong)
            #expect(caller.boxes.count == before + 3)
            caller.world.prompter.will(.type(Self.word))
            try await caller.make(call, context: 7)
            #expect(caller.boxes.last?.error == nil, "no wrong password is kept")
        }
    }

    @Test("a cancelled prompt changes nothing", arguments: PasswordCall.allCases)
    func cancelled(call: PasswordCall) async throws {
        let caller = try await caller(for: call)
        caller.world.prompter.will(.cancel)
        await #expect(throws: KeychainError(.userCanceled)) { try await caller.make(call, context: 7) }
        try await caller.set(Self.word, in: 8)
        let kept = try await caller.make(.list, context: 8, mayAsk: false)
        #expect(kept == (call.seals && call != .protect ? [] : ["ada"]))
    }

    @Test("without leave to ask a call fails and shows nothing", arguments: PasswordCall.allCases)
    func silent(call: PasswordCall) async throws {
        let caller = try await caller(for: call)
        let before = caller.boxes.count
        let error = await #expect(throws: KeychainError(.interactionNotAllowed)) {
            try await caller.make(call, mayAsk: false)
        }
        let cause: DriverCause = call.seals ? .newApplicationPasswordMissing : .applicationPasswordMissing
        #expect(error?.cause == cause)
        // Only queries have it.
        if [.protect, .read, .list, .change].contains(call) {
            await #expect(throws: KeychainError(.interactionNotAllowed)) {
                try await caller.make(call, ui: .fail)
            }
        }
        #expect(caller.boxes.count == before)
    }

    @Test(
        "a place without terminal and display is errSecInteractionNotAllowed",
        arguments: PasswordCall.allCases
    )
    func noPlace(call: PasswordCall) async throws {
        let caller = try await caller(for: call)
        caller.world.prompter.obstruct(PromptError(.notInteractive))
        await #expect(throws: KeychainError(.interactionNotAllowed)) { try await caller.make(call) }
    }

    @Test("a typed password serves its context until the keychain is locked, and no other context")
    func kept() async throws {
        let caller = try await PasswordCaller()
        try await caller.prepare()
        try await caller.addPlain("plain")
        let before = caller.boxes.count
        caller.world.prompter.will(.type(Self.word))
        #expect(try await caller.make(.read, context: 7) == ["ada"])
        for call in PasswordCall.opening { try await caller.make(call, context: 7, mayAsk: false) }
        let skipped = try await caller.make(.list, context: 7, ui: .skip)
        #expect(skipped.count == 1, "one page")
        #expect(caller.boxes.count == before + 1)
        for other: UInt64? in [nil, 8] {
            await #expect(throws: KeychainError(.interactionNotAllowed)) {
                try await caller.make(.read, context: other, mayAsk: false)
            }
        }
        try await caller.visit.lock()
        caller.world.prompter.will(.type(DeskWorld.passcode), .type(Self.word))
        #expect(try await caller.make(.read, context: 7) == ["changed"])
        #expect(caller.boxes[(before + 1)...].map(\.fieldLabel) == ["Passcode:", "Application password:"])
    }

    @Test("a call without a context asks each time")
    func fresh() async throws {
        let caller = try await PasswordCaller()
        try await caller.prepare()
        let before = caller.boxes.count
        for number in 1...2 {
            caller.world.prompter.will(.type(Self.word))
            #expect(try await caller.make(.read) == ["ada"])
            #expect(caller.boxes.count == before + number)
        }
    }

    @Test("the app's own password takes the place of a typed one, and removing it removes both")
    func replaced() async throws {
        let caller = try await PasswordCaller()
        try await caller.prepare()
        for password: String? in [nil, "another"] {
            caller.world.prompter.will(.type(Self.word))
            #expect(try await caller.make(.read, context: 7) == ["ada"])
            try await caller.set(password, in: 7)
            let status: Status = password == nil ? .interactionNotAllowed : .authFailed
            await #expect(throws: KeychainError(status)) {
                try await caller.make(.read, context: 7, mayAsk: false)
            }
            try await caller.set(nil, in: 7)
        }
        caller.world.prompter.will(.type(Self.word))
        #expect(try await caller.make(.read, context: 7) == ["ada"])
        _ = caller.visit.invalidateContext(7)
        await #expect(throws: KeychainError(.authFailed)) { try await caller.make(.read, context: 7) }
    }

    @Test("a password typed for one item is asked for again where another item has another one")
    func other() async throws {
        let caller = try await PasswordCaller()
        try await caller.prepare("grace", password: "open, please")
        try await caller.prepare("ada")
        let before = caller.boxes.count
        caller.world.prompter.will(.type(Self.word), .type("open, please"))
        #expect(try await caller.make(.read, "ada", context: 7) == ["ada"])
        #expect(try await caller.make(.read, "grace", context: 7) == ["grace"])
        #expect(caller.boxes[before...].map(\.error) == [nil, nil], "it was not wrong where it was typed")
    }

    @Test("a search that skips leaves out what needs a password, and asks for nothing")
    func skipped() async throws {
        let caller = try await PasswordCaller()
        try await caller.prepare()
        try await caller.addPlain("plain")
        let before = caller.boxes.count
        #expect(try await caller.make(.list, ui: .skip) == ["plain"])
        #expect(try await caller.make(.read, ui: .skip) == [])
        #expect(caller.boxes.count == before)
    }

    @Test(
        "the user and the password are asked for one after the other",
        arguments: [
            AccessControlFlags.userPresence, .devicePasscode,
        ]
    )
    func withUser(flags: AccessControlFlags) async throws {
        let caller = try await PasswordCaller()
        try await caller.prepare(flags: flags.union(.applicationPassword))
        for call in PasswordCall.opening {
            let before = caller.boxes.count
            caller.world.prompter.will(.type(DeskWorld.passcode), .type("simsim"), .type(Self.word))
            try await caller.make(call)
            let labels = caller.boxes[before...].map(\.fieldLabel)
            #expect(labels == ["Passcode:", "Application password:", "Application password:"], "\(call)")
        }
    }

    @Test("an empty password and one above 1,024 bytes are asked for again, three times at most")
    func unusable() async throws {
        let caller = try await PasswordCaller()
        let before = caller.boxes.count
        let long = String(repeating: "x", count: 1025)
        caller.world.prompter.will(.type(""), .type(long), .type(Self.word))
        try await caller.make(.add)
        let refused = "An application password has 1 to 1024 bytes."
        #expect(caller.boxes[before...].map(\.error) == [nil, refused, refused])
        caller.world.prompter.will(.type(""), .type(""), .type(""))
        await #expect(throws: KeychainError(.authFailed)) { try await caller.make(.add, "grace") }
        #expect(caller.boxes.count == before + 6)
    }

    @Test("composed and decomposed letters are the same password")
    func normalized() async throws {
        let caller = try await PasswordCaller()
        caller.world.prompter.will(.type("s\u{e9}same"))
        try await caller.make(.add)
        caller.world.prompter.will(.type("se\u{301}same"))
        #expect(try await caller.make(.read) == ["ada"])
    }

    @Test("a program whose prompts are cancelled is silenced, as at any other prompt")
    func silenced() async throws {
        let caller = try await PasswordCaller()
        try await caller.prepare()
        for _ in 1...3 {
            caller.world.prompter.will(.cancel)
            await #expect(throws: KeychainError(.userCanceled)) { try await caller.make(.read) }
        }
        let before = caller.boxes.count
        let error = await #expect(throws: KeychainError(.authFailed)) { try await caller.make(.read) }
        #expect(error?.authentication?.cause == .callerSilenced)
        #expect(caller.boxes.count == before)
    }
}
