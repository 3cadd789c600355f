import KeychainModel
import SecretMemory

extension FramesTarget {
    private static let prompt = PromptFields(
        origin: PromptOrigin(terminal: "/dev/pts/1", terminalType: "xterm", characterType: "C.UTF-8"),
        reason: "to sign in"
    )
    private static let queries: [ItemQuery] = [
        ItemQuery(itemClass: .genericPassword),
        ItemQuery(
            itemClass: .internetPassword,
            attributes: Example.attributes,
            limit: .all,
            returns: [.data]
        ),
        ItemQuery(itemClass: .genericPassword, limit: .count(7), returns: [.attributes, .persistentRef]),
        ItemQuery(
            itemClass: nil,
            references: [
                PersistentReference(octets: octets(16)), PersistentReference(octets: octets(16, from: 99)),
            ]
            .compactMap(\.self),
            authenticationUI: .skip
        ),
    ]

    static func seeds() -> [[UInt8]] {
        let messages = sessions() + contexts() + keys() + items()
        let whole = messages.map(\.octets)
        let framed = whole.map(frame)
        var streams = [
            framed[0] + framed[1], framed.reduce([], +), Array(framed[2].dropLast(3)), [0, 0, 0, 0],
        ]
        streams.append([0, 0x10, 0, 1, 0x84])
        streams.append([0xFF, 0xFF, 0xFF, 0xFF])
        return whole + framed.prefix(8) + streams + damaged(whole[whole.count - 1], most: 8)
    }

    private static func frame(_ message: [UInt8]) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: message.count >> (24 - 8 * $0)) } + message
    }

    private static func sessions() -> [Message] {
        var messages = [Message(.hello, Hello(nonce: octets(16))), Message(.status, EmptyBody())]
        messages += [Message(.status, prompt), Message(.check, EmptyBody()), Message(.lock, LockRequest())]
        messages += [Message(.lock, LockRequest(after: 900))]
        messages += [Message(.watch, WatchRequest()), Message(.watch, WatchRequest(tellsItems: true))]
        for method in [
            Method.setUp, .unlock, .changePasscode, .recover, .migrate, .protectLockout, .startOver,
        ] {
            messages.append(Message(method, prompt))
            messages.append(
                Message(
                    method,
                    PromptFields(cancelTitle: "Stop", fallbackTitles: [], interactionAllowed: false)
                )
            )
        }
        return messages + [Message(.cancel, CancelRequest(id: 1)), Message(.cancel, CancelRequest(id: .max))]
    }

    private static func contexts() -> [Message] {
        var messages = [
            Message(.invalidateContext, ContextNumber(3)), Message(.lastAuthentications, EmptyBody()),
            Message(.setCredential, SetCredential(context: 3, password: nil)),
            Message(.setCredential, SetCredential(context: 3, password: SecretBytes(copying: octets(9)))),
        ]
        for policy: Int64 in [0, 1, 2, 3, 4, -1, .max] {
            messages.append(Message(.canEvaluatePolicy, CanEvaluatePolicy(policy: policy)))
        }
        for seconds in [0, 10, 1e300, .infinity, .nan, -1, 0.1] {
            let body = EvaluatePolicy(policy: 2, context: 1, reuseSeconds: seconds, prompt: prompt)
            messages.append(Message(.evaluatePolicy, body))
        }
        for control in Example.accessControls {
            let body = EvaluateAccessControl(
                accessControl: control,
                operation: 1,
                context: 1,
                reuseSeconds: 0,
                prompt: prompt
            )
            messages.append(Message(.evaluateAccessControl, body))
        }
        return messages
    }

    private static func keys() -> [Message] {
        var messages = Example.accessControls.map {
            Message(.makeKey, MakeKey(accessControl: $0, context: 1, prompt: prompt))
        }
        for isCounted in [false, true] {
            guard let limits = try? KeyLimits(starts: 1, ends: 1 << 50, uses: 3, isCounted: isCounted),
                let control = Example.accessControls.first
            else { continue }
            let limited = MakeKey(accessControl: control, limits: limits, prompt: prompt)
            messages.append(Message(.makeKey, limited))
        }
        messages.append(Message(.readKey, ReadKey(representation: octets(300), prompt: prompt)))
        let uses: [KeyUse] =
            [20, 32, 48, 64, 33].map { .sign(digest: octets($0)) }
            + [
                .agree(publicKey: [4] + octets(64)), .decrypt(publicKey: [4] + octets(64)),
                .agree(publicKey: [4]), .signCounted(before: octets(33), after: octets(64)),
                .signCounted(before: [], after: octets(KeyUse.longestPart + 1)),
            ]
        for use in uses {
            messages.append(Message(.useKey, UseKey(representation: octets(40), use: use, prompt: prompt)))
        }
        for count in [0, AttestKey.mostQualifyingData, AttestKey.mostQualifyingData + 1] {
            let body = AttestKey(
                representation: octets(40),
                qualifyingData: octets(count),
                context: 1,
                prompt: prompt
            )
            messages.append(Message(.attestKey, body))
        }
        messages.append(Message(.attestationIdentity, EmptyBody()))
        for count in [52, ActivationChallenge.longestPart + 1] {
            let body = ActivationChallenge(credential: octets(52), encryptedSecret: octets(count))
            messages.append(Message(.activateCredential, body))
        }
        for count in [0, BootQuote.mostNonce, BootQuote.mostNonce + 1] {
            messages.append(Message(.quoteBoot, BootQuoteRequest(nonce: octets(count))))
        }
        return messages + protections()
    }

    private static func protections() -> [Message] {
        let changes: [ChangeProtection.Change] = [
            .mode(.always), .trustHere, .distrust(octets(32)), .distrust([]),
        ]
        let program = RepresentedProgram(process: 4711, start: 1 << 40)
        return [Message(.readProtection, EmptyBody()), Message(.represent, program)]
            + changes.map { Message(.changeProtection, ChangeProtection($0, prompt: prompt)) }
    }

    private static func items() -> [Message] {
        var messages: [Message] = []
        for query in queries {
            messages.append(Message(.copyItems, CopyItems(query: query, context: 1, prompt: prompt)))
            messages.append(Message(.deleteItems, DeleteItems(query: query, prompt: prompt)))
            let change = UpdateItems(
                query: query,
                attributes: [.label: .string("new")],
                accessControl: nil,
                data: SecretBytes(copying: octets(20)),
                former: Example.attributes,
                prompt: prompt
            )
            messages.append(Message(.updateItems, change))
            let erasure = EraseItems(query: query, secret: SecretBytes(copying: octets(20)), prompt: prompt)
            messages.append(Message(.eraseItems, erasure))
        }
        for control in Example.accessControls {
            let item = AddItem(
                itemClass: .genericPassword,
                attributes: Example.attributes,
                accessControl: control,
                data: SecretBytes(copying: octets(20)),
                returns: .persistentRef,
                prompt: prompt
            )
            messages.append(Message(.addItem, item))
            for query in queries.prefix(2) {
                let swap = ReplaceItem(
                    query: query,
                    itemClass: .genericPassword,
                    attributes: Example.attributes,
                    accessControl: control,
                    data: SecretBytes(copying: octets(20)),
                    mark: SecretBytes(copying: octets(4)),
                    keepsSame: true,
                    prompt: prompt
                )
                messages.append(Message(.replaceItem, swap))
            }
        }
        return messages
    }
}

/// One request's bytes.
private struct Message {
    let octets: [UInt8]

    init<Body: WireBody & ~Copyable>(_ method: Method, _ body: borrowing Body) {
        guard let message = try? RequestHead(id: 2, method: method).message(body) else {
            fatalError("no locked memory")
        }
        octets = message.withOctets { $0.array }
    }
}

/// Values shared by the seeds of several targets.
enum Example {
    static let attributes: ItemAttributes = [
        .account: .string("alice"), .service: .string("b\u{E4}r"), .generic: .data(octets(3)),
        .port: .integer(443),
        .isInvisible: .boolean(true), .creationDate: .date(1_700_000_000_000_000), .type: .integer(-1),
    ]
    static let accessControls: [AccessControl] = [
        AccessControl(accessibility: .whenUnlocked),
        try? AccessControl(accessibility: .whenPasscodeSetThisDeviceOnly, flags: .userPresence),
        try? AccessControl(
            accessibility: .afterFirstUnlock,
            flags: [.biometryCurrentSet, .devicePasscode, .or]
        ),
        try? AccessControl(accessibility: .always, flags: [.applicationPassword]),
        try? AccessControl(
            accessibility: .whenUnlocked,
            flags: [.biometryAny, .devicePasscode, .applicationPassword]
        ),
    ].compactMap(\.self)
}
