import CBOR
import KeychainModel
import SecretMemory

@testable import KeychainClient

/// Input from the daemon: the same bytes as a reply to every kind of request.
enum RepliesTarget: FuzzTarget {
    static let name = "replies"

    static func run(_ input: Span<UInt8>) {
        runBody(Greeting.self, input)
        runBody(StatusReply.self, input)
        runBody(CheckReply.self, input)
        runBody(EvaluationReply.self, input)
        runBody(AvailabilityReply.self, input)
        runBody(CountBody.self, input)
        runBody(Replacement.self, input)
        runBody(Erasure.self, input)
        runBody(Failure.self, input)
        runBody(KeyReply.self, input)
        runBody(Attestation.self, input)
        runBody(AttestationIdentity.self, input)
        runBody(BootQuote.self, input)
        runBody(PastAuthenticationsReply.self, input)
        runBody(ProtectionReply.self, input)
        runBody(RepresentedReply.self, input)
        runKeyResult(input)
        runItems(input, returns: [.attributes, .persistentRef])
        runItems(input, returns: [.data, .attributes, .persistentRef])
    }

    private static func read<Body: WireBody>(_ type: Body.Type, _ input: Span<UInt8>) -> (ReplyHead, Body)? {
        try? CBORReader.read(input, limits: Frame.limits) { reader in
            (try ReplyHead(from: &reader), try Body(from: &reader))
        }
    }

    /// A decoded body must be encoded in a form that decodes to the same, stably.
    private static func runBody<Body: WireBody>(_ type: Body.Type, _ input: Span<UInt8>) {
        guard let (head, body) = read(type, input) else { return }
        let once = head.message(body)
        once.withOctets { once in
            guard let (headAgain, bodyAgain) = read(type, once) else {
                fatalError("a \(type) that does not read back")
            }
            require(headAgain == head, "a reply's head reads back")
            let twice = headAgain.message(bodyAgain)
            twice.withOctets { require($0.array == once.array, "a \(type) has one encoding") }
        }
    }

    /// Like ``runBody(_:_:)``, for a secret, which is not copied.
    private static func runKeyResult(_ input: Span<UInt8>) {
        let written = try? CBORReader.read(input, limits: Frame.limits) { reader in
            let head = try ReplyHead(from: &reader)
            let result = try KeyResult(from: &reader)
            require(result.octets.count <= KeyResult.longest, "a result within its limit")
            return head.message(result).withOctets { $0.array }
        }
        guard let written else { return }
        let again = try? CBORReader.read(written.span, limits: Frame.limits) { reader in
            let head = try ReplyHead(from: &reader)
            return head.message(try KeyResult(from: &reader)).withOctets { $0.array }
        }
        require(again == written, "a result has one encoding")
    }

    private static func runItems(_ input: Span<UInt8>, returns: ItemQuery.Returns) {
        guard input.count > 0, let message = ReceivedMessage.arriving(input) else { return }
        let replies = ItemReplies(returns: returns, reserved: nil)
        do {
            let (_, start) = try message.readBeginning { (try ReplyHead(from: &$0), $0.offset) }
            try replies.accept(message, bodyAt: start)
        } catch {
            require(
                error is CBORError || error is WireError || error is KeychainError,
                "\(error) is not ours"
            )
            return
        }
        let results = ItemResults(replies)
        var count = 0
        var octetCount = 0
        results.forEach { item in
            count += 1
            guard let length = item.withData({ $0.count }) else { return }
            octetCount += length
            require(returns.contains(.data), "no data that was not asked for")
        }
        require(count == results.count, "as many items as announced")
        require(octetCount <= input.count, "no more data than arrived")
        let first = results.first()
        let hasFirst = if case .some = first { true } else { false }
        require(hasFirst == (count > 0), "the first of some")
    }
}

extension RepliesTarget {
    static func seeds() -> [[UInt8]] {
        let whole = statuses() + failures() + keys() + results()
        return whole + damaged(whole[0], most: 6) + damaged(whole[whole.count - 1], most: 6)
    }

    private static func reply<Body: WireBody>(_ body: Body, _ status: Status = .success) -> [UInt8] {
        ReplyHead(id: 2, status: status).message(body).withOctets { $0.array }
    }

    private static func statuses() -> [[UInt8]] {
        var seeds = [reply(Greeting(nonce: octets(16), daemonVersion: "1.0")), reply(EmptyBody())]
        for keybag in KeybagState.allCases {
            for assurance in Assurance.allCases {
                let status = StatusReply(
                    keybag: keybag,
                    assurance: assurance,
                    assuranceReasons: ["no TPM"],
                    authentication: AuthenticationStatus(
                        sensor: "Goodix",
                        sensorFault: DriverCause(domain: "fprintd", code: "NoSuchDevice"),
                        fingers: ["left-thumb", "right-index-finger"],
                        binding: .names,
                        passcodeFailures: 4,
                        passcodeDelay: 60
                    ),
                    promptFault: assurance == .test ? nil : "no terminal",
                    daemonVersion: "1.0",
                    daemonProcess: 4711,
                    locking: LockingStatus(
                        triggers: LockTriggers(idle: assurance == .tpm ? .seconds(900) : nil),
                        sessionsFault: keybag == .locked ? "logind is not on the bus" : nil,
                        secondsLeft: keybag == .unlocked ? 60 : nil
                    )
                )
                seeds.append(reply(status))
            }
        }
        let report = StoreReport(
            items: 3,
            invalidated: 1,
            damaged: 1,
            isSetAuthentic: false,
            faults: ["item 2"]
        )
        seeds.append(reply(CheckReply(report)))
        for count in [0, 1, -1, Int.max] { seeds.append(reply(CountBody(count))) }
        for outcome in Replacement.allCases { seeds.append(reply(outcome)) }
        seeds.append(reply(Erasure(deleted: 1, different: 2, unknown: .max)))
        seeds.append(reply(RepresentedReply(nil)))
        seeds.append(reply(RepresentedReply(ProgramFile(path: "/usr/bin/secret-tool", inode: 4711))))
        return seeds + protections()
    }

    private static func protections() -> [[UInt8]] {
        let waiting = CredentialChange.allCases.map { WaitingChange($0, secondsLeft: 3600) }
        let home = NetworkPlace(profile: "1-2", name: Array("home".utf8))
        let faults = PlaceError.allCases.map { Result<NetworkPlace, PlaceError>.failure($0) }
        return (faults + [home].compactMap { $0.map(Result.success) }).map { here in
            let places = [home].compactMap(\.self)
            return reply(ProtectionReply(mode: .away, places: places, here: here, waiting: waiting))
        }
    }

    private static func failures() -> [[UInt8]] {
        let remedies: [Remedy?] = [
            nil, .retry, .usePasscode, .enrolFinger, .wait(seconds: 60), .setPasscode, .unlock, .recover,
            .provideTerminal, .check,
        ]
        var seeds: [[UInt8]] = []
        for remedy in remedies {
            let error = AuthenticationError(.biometryLockout, cause: .locked, remedy: remedy)
            seeds.append(reply(Failure(KeychainError(error)), .authFailed))
            let availability = AuthenticationAvailability(
                error: error,
                hasSensor: true,
                domainState: octets(32)
            )
            seeds.append(reply(AvailabilityReply(availability)))
        }
        seeds.append(reply(Failure(KeychainError(.diskFull)), .diskFull))
        seeds.append(reply(EvaluationReply(factors: [.biometry, .passcode], domainState: octets(32))))
        seeds.append(reply(EvaluationReply(factors: [], domainState: nil)))
        seeds.append(reply(PastAuthenticationsReply(pastAuthentications)))
        return seeds
    }

    private static let pastAuthentications = AuthenticationFactor.allCases.compactMap { factor in
        AccessGroup("/usr/bin/app").map { group in
            PastAuthentication(factor: factor, isOfWeakSensor: true, age: .seconds(90), group: group)
        }
    }

    private static func keys() -> [[UInt8]] {
        var seeds = Example.accessControls.map { control in
            let key = EnclaveKey(
                representation: octets(300),
                publicKey: [4] + octets(64),
                accessControl: control,
                isHardware: true
            )
            return reply(KeyReply(key))
        }
        seeds.append(reply(BootQuote(statement: octets(120), signature: octets(64))))
        for attestation in Example.attestations {
            seeds.append(reply(attestation))
            if let identity = attestation.evidence?.identity { seeds.append(reply(identity)) }
        }
        for count in [0, 32, KeyResult.longest, KeyResult.longest + 1] {
            let result = KeyResult(SecretBytes(copying: octets(count)))
            seeds.append(ReplyHead(id: 2, status: .success).message(result).withOctets { $0.array })
        }
        return seeds
    }

    /// Pages of items with every combination of parts present and missing.
    private static func results() -> [[UInt8]] {
        (0..<16).map { parts in
            let item = cbor { writer in
                writer.writeMapHead(count: [1, 2, 4, 8].filter { parts & $0 != 0 }.count)
                if parts & 1 != 0 {
                    writer.write(unsigned: ItemField.reference)
                    writer.write(bytes: octets(PersistentReference.octetCount))
                }
                if parts & 2 != 0 {
                    writer.write(unsigned: ItemField.attributes)
                    writer.write(Example.attributes)
                }
                if parts & 4 != 0 {
                    writer.write(unsigned: ItemField.data)
                    writer.write(bytes: octets(40))
                }
                if parts & 8 != 0 {
                    writer.write(unsigned: 9)
                    writer.writeNull()
                }
            }
            var page = SecretBuffer()
            for _ in 0..<3 { page.append(contentsOf: item.span) }
            let items = EncodedItems(octets: page, count: 3, next: nil)
            return ItemsReply.message(head: ReplyHead(id: 2, more: parts & 1 != 0), items: items)
                .withOctets { $0.array }
        }
    }
}
