import KeychainModel
import SecretMemory

/// Every request: each method with all optional fields and with none, and with each case of its unions.
enum GoldenRequests {
    private typealias Value = GoldenValues

    static func all() throws -> [GoldenMessage] { try Method.allCases.flatMap { try of($0) } }

    /// The requests of a method; a new method does not compile before it has some.
    static func of(_ method: Method) throws -> [GoldenMessage] {
        switch method {
        case .check, .attestationIdentity, .lastAuthentications, .listApps, .readProtection, .agentNext:
            [try .request(method, comparing: "no body", EmptyBody())]
        case .watch:
            [
                try .request(method, comparing: "no body", WatchRequest()),
                try .request(method, comparing: "items", WatchRequest(tellsItems: true)),
            ]
        case .lock:
            [
                try .request(method, comparing: "no body", LockRequest()),
                try .request(method, comparing: "seconds", LockRequest(after: 604_800)),
            ]
        case .status:
            [try .request(method, comparing: "no body", EmptyBody())] + (try prompts(method))
        case .setUp, .unlock, .changePasscode, .recover, .migrate, .protectLockout, .startOver,
            .changeRecoveryCode, .checkRecoveryCode, .exportKeychain, .backUp, .importKeychain:
            try prompts(method)
        case .hello:
            [try .request(method, comparing: "nonce", Hello(nonce: Value.bytes(1, 16)))]
        case .represent:
            [
                try .request(
                    method,
                    comparing: "program",
                    RepresentedProgram(process: 4711, start: 123_456_789)
                )
            ]
        case .cancel:
            [try .request(method, comparing: "number", CancelRequest(id: 299))]
        case .sendImport:
            [
                try .request(method, comparing: "first part", ImportPart(offset: 0, octets: [1, 2, 3])),
                try .request(method, comparing: "later part", ImportPart(offset: 1 << 18, octets: [])),
            ]
        case .openExport:
            [
                try .request(method, comparing: "read", ExportRequest(prompt: Value.noPrompt)),
                try .request(
                    method,
                    comparing: "merge",
                    ExportRequest(
                        prompt: Value.prompt,
                        merge: ExportMerge(names: ["a", "é"], conflicts: .both)
                    )
                ),
            ]
        case .addItem, .copyItems, .updateItems, .deleteItems, .replaceItem, .eraseItems, .moveItems,
            .switchFingers, .repair:
            try items(method)
        case .makeKey, .readKey, .useKey, .attestKey, .activateCredential, .quoteBoot: try keys(method)
        case .invalidateContext, .setCredential, .evaluatePolicy, .evaluateAccessControl, .canEvaluatePolicy:
            try contexts(method)
        case .changeProtection: try GoldenProtection.requests()
        case .agentRegister, .agentShown, .agentAnswer, .agentGone, .agentJudge, .agentCheck:
            try agents(method)
        }
    }

    private static func prompts(_ method: Method) throws -> [GoldenMessage] {
        [
            try .request(method, comparing: "every prompt field", Value.prompt),
            try .request(method, comparing: "no prompt field", Value.noPrompt),
        ]
    }

    private static func items(_ method: Method) throws -> [GoldenMessage] {
        let query = try Value.query()
        switch method {
        case .addItem:
            let full = AddItem(
                itemClass: .internetPassword,
                attributes: Value.attributes,
                accessControl: try Value.control(),
                data: Value.secret("pass word"),
                returns: .known,
                context: 5,
                prompt: Value.prompt
            )
            var messages = [try GoldenMessage.request(method, "every field", full)]
            for itemClass in ItemClass.allCases {
                let sparse = AddItem(
                    itemClass: itemClass,
                    attributes: [:],
                    accessControl: Value.noControl,
                    data: nil,
                    prompt: Value.noPrompt
                )
                messages.append(
                    try .request(method, "no optional field, class \(itemClass.rawValue)", sparse)
                )
            }
            for accessibility in Accessibility.allCases {
                let accessible = AddItem(
                    itemClass: .key,
                    attributes: [:],
                    accessControl: AccessControl(accessibility: accessibility),
                    data: Value.secret(""),
                    prompt: Value.noPrompt
                )
                messages.append(
                    try .request(method, "empty secret, accessibility \(accessibility.rawValue)", accessible)
                )
            }
            return messages
        case .copyItems:
            let full = CopyItems(query: query, context: 5, prompt: Value.prompt)
            let limits: [(String, ItemQuery.Limit)] = [("one", .one), ("all", .all), ("count", .count(1))]
            let interactions: [(String, ItemQuery.AuthenticationUI)] = [
                ("allow", .allow), ("fail", .fail), ("skip", .skip),
            ]
            return [try .request(method, "every field", full)]
                + (try limits.map { name, limit in
                    let query = ItemQuery(itemClass: nil, limit: limit)
                    let body = CopyItems(query: query, prompt: Value.noPrompt)
                    return try .request(method, "no optional field, limit \(name)", body)
                })
                + (try interactions.map { name, interaction in
                    let query = ItemQuery(itemClass: .identity, authenticationUI: interaction)
                    let body = CopyItems(query: query, prompt: Value.noPrompt)
                    return try .request(method, "authentication UI \(name)", body)
                })
        case .updateItems:
            let full = UpdateItems(
                query: query,
                attributes: [.comment: .string("new")],
                accessControl: try Value.control(),
                data: Value.secret("newer"),
                former: [.label: .string("old")],
                context: 5,
                prompt: Value.prompt
            )
            let sparse = UpdateItems(
                query: Value.noQuery,
                attributes: [:],
                accessControl: nil,
                data: nil,
                prompt: Value.noPrompt
            )
            return [
                try .request(method, "every field", full), try .request(method, "no optional field", sparse),
            ]
        case .deleteItems:
            return [
                try .request(method, "every field", DeleteItems(query: query, prompt: Value.prompt)),
                try .request(
                    method,
                    "no optional field",
                    DeleteItems(query: Value.noQuery, prompt: Value.noPrompt)
                ),
            ]
        case .replaceItem:
            let full = ReplaceItem(
                query: query,
                itemClass: .certificate,
                attributes: [.label: .string("l")],
                accessControl: try Value.control(),
                data: Value.secret("data"),
                mark: Value.secret("mark"),
                keepsSame: true,
                context: 5,
                prompt: Value.prompt
            )
            let sparse = ReplaceItem(
                query: Value.noQuery,
                itemClass: .genericPassword,
                attributes: [:],
                accessControl: Value.noControl,
                data: nil,
                prompt: Value.noPrompt
            )
            return [
                try .request(method, "every field", full), try .request(method, "no optional field", sparse),
            ]
        case .eraseItems:
            let body = EraseItems(query: query, secret: Value.secret("mark"), prompt: Value.prompt)
            return [try .request(method, "every field", body)]
        case .moveItems:
            let (from, to) = (try Value.group("/usr/bin/old"), try Value.group("/usr/bin/new"))
            let move = MoveItems(from: from, to: to, isDryRun: false, prompt: Value.prompt)
            let dryRun = MoveItems(from: from, to: to, isDryRun: true, prompt: Value.noPrompt)
            return [
                try .request(method, comparing: "move", move),
                try .request(method, comparing: "dry run", dryRun),
            ]
        case .switchFingers:
            let group = try Value.group("/usr/bin/app")
            let off = SwitchFingers(group: group, isAllowed: false, prompt: Value.noPrompt)
            let on = SwitchFingers(group: group, isAllowed: true, prompt: Value.prompt)
            return [
                try .request(method, comparing: "off", off), try .request(method, comparing: "on", on),
            ]
        default:
            let check = RepairRequest(prompt: Value.prompt, accepts: false)
            let repair = RepairRequest(prompt: Value.noPrompt, accepts: true)
            return [
                try .request(method, comparing: "check", check),
                try .request(method, comparing: "accept", repair),
            ]
        }
    }

    private static func keys(_ method: Method) throws -> [GoldenMessage] {
        let representation = Value.bytes(0x80, 40)
        switch method {
        case .makeKey:
            let full = MakeKey(
                accessControl: try Value.control(),
                group: try Value.group("team"),
                limits: try KeyLimits(starts: 1, ends: 1_700_000_000_000_000, uses: 70_000),
                context: 5,
                prompt: Value.prompt
            )
            let sparse = MakeKey(accessControl: Value.noControl, prompt: Value.noPrompt)
            let counted = MakeKey(
                accessControl: Value.noControl,
                limits: try KeyLimits(isCounted: true),
                prompt: Value.noPrompt
            )
            return [
                try .request(method, "every field", full), try .request(method, "no optional field", sparse),
                try .request(method, "counted", counted),
            ]
        case .readKey:
            return [
                try .request(
                    method,
                    "every field",
                    ReadKey(representation: representation, prompt: Value.prompt)
                )
            ]
        case .useKey:
            let uses: [(String, KeyUse)] = [
                ("sign", .sign(digest: Value.bytes(0x20, 32))), ("agree", .agree(publicKey: Value.publicKey)),
                ("decrypt", .decrypt(publicKey: Value.publicKey)),
                ("counted", .signCounted(before: Value.bytes(0x30, 33), after: Value.bytes(0x50, 32))),
            ]
            return try uses.map { name, use in
                let body = UseKey(representation: representation, use: use, context: 5, prompt: Value.prompt)
                return try .request(method, "\(name), every field", body)
            } + [
                try .request(
                    method,
                    "sign, no optional field",
                    UseKey(representation: [], use: .sign(digest: Value.bytes(1, 20)), prompt: Value.noPrompt)
                )
            ]
        case .quoteBoot:
            return [
                try .request(method, comparing: "nonce", BootQuoteRequest(nonce: Value.bytes(0x10, 32))),
                try .request(method, comparing: "no nonce", BootQuoteRequest(nonce: [])),
            ]
        case .attestKey:
            let full = AttestKey(
                representation: representation,
                qualifyingData: Value.bytes(0x60, 32),
                context: 5,
                prompt: Value.prompt
            )
            let sparse = AttestKey(representation: [], qualifyingData: [], prompt: Value.noPrompt)
            return [
                try .request(method, "every field", full), try .request(method, "no optional field", sparse),
            ]
        default:
            let challenge = ActivationChallenge(credential: [1, 2], encryptedSecret: [3, 4, 5])
            return [try .request(method, comparing: "challenge", challenge)]
        }
    }

    private static func contexts(_ method: Method) throws -> [GoldenMessage] {
        switch method {
        case .invalidateContext:
            return [try .request(method, comparing: "number", ContextNumber(.max))]
        case .setCredential:
            return [
                try .request(method, "set", SetCredential(context: 5, password: Value.secret("app"))),
                try .request(method, "remove", SetCredential(context: 5, password: nil)),
            ]
        case .evaluatePolicy:
            let policies: [(Int64, Double)] = [(2, 0), (-70, 1.5), (3, 0.1)]
            return try policies.map { policy, seconds in
                let body = EvaluatePolicy(
                    policy: policy,
                    context: 5,
                    reuseSeconds: seconds,
                    prompt: Value.prompt
                )
                return try .request(method, "policy \(policy)", body)
            }
        case .evaluateAccessControl:
            let body = EvaluateAccessControl(
                accessControl: try Value.control(),
                operation: 3,
                context: 5,
                reuseSeconds: 300,
                prompt: Value.prompt
            )
            return [try .request(method, "every field", body)]
        default:
            return [try .request(method, comparing: "policy", CanEvaluatePolicy(policy: 4))]
        }
    }

    private static func agents(_ method: Method) throws -> [GoldenMessage] {
        switch method {
        case .agentRegister:
            let places: [(String, AgentRegistration.Place)] = [
                ("terminal", .terminal(path: "/dev/pts/4", session: 4711, start: 98_765)),
                (
                    "terminal of a login",
                    .terminal(path: "/dev/pts/4", session: 4711, start: 98_765, login: 3)
                ),
                ("both displays", .graphical(display: ":1", waylandDisplay: "wayland-0")),
                (
                    "display of a login",
                    .graphical(display: ":1", waylandDisplay: nil, login: 3)
                ),
                ("X11", .graphical(display: ":1", waylandDisplay: nil)),
                ("Wayland", .graphical(display: nil, waylandDisplay: "wayland-0")),
            ]
            return try places.map { name, place in
                try .request(method, comparing: name, AgentRegistration(place, version: "1.2.3"))
            }
        case .agentShown:
            return [
                try .request(method, comparing: "place", ShownBox(9, at: "session 4711")),
                try .request(method, comparing: "no place", ShownBox(9, at: nil)),
            ]
        case .agentAnswer: return try answers()
        case .agentJudge:
            return [try .request(method, "draft", AgentDraft(number: 9, secret: Value.secret("draf")))]
        default: return [try .request(method, comparing: "number", BoxNumber(9))]
        }
    }

    private static func answers() throws -> [GoldenMessage] {
        func answer(_ name: String, _ outcome: consuming AgentAnswer.Outcome) throws -> GoldenMessage {
            try .request(.agentAnswer, name, AgentAnswer(number: 9, outcome: outcome))
        }
        let codes: [PromptError.Code] = [
            .notInteractive, .inBackground, .noAgent, .prompterMissing, .prompterFailed, .dismissed,
            .undrawable,
        ]
        return [
            try answer("confirmed", .answered(.confirmed)), try answer("fallback", .answered(.fallback(0))),
            try answer("third fallback", .answered(.fallback(2))),
            try answer("cancelled", .answered(.cancelled)), try answer("timed out", .answered(.timedOut)),
            try answer("entered", .answered(.entered(Value.secret("1234")))),
        ]
            + (try codes.map { try answer("failed, \($0.rawValue)", .failed(PromptError($0, detail: "why"))) })
    }
}
