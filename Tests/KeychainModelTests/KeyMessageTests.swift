import CBOR
import SecretMemory
import Testing

@testable import KeychainModel

@Suite("Messages about private keys")
struct KeyMessageTests {
    private let prompt = PromptFields(reason: "sign the letter", interactionAllowed: false)
    private let point: [UInt8] = [4] + [UInt8](repeating: 9, count: 64)

    private func roundTrip<Body: WireBody & ~Copyable>(_ body: borrowing Body) throws -> Body {
        var writer = WireWriter(SecretBuffer())
        body.encode(to: &writer)
        return try writer.finish().withOctets { octets in
            try CBORReader.read(octets, limits: Frame.limits) { reader in try Body(from: &reader) }
        }
    }

    @Test("requests to make and to read a key round-trip")
    func makeAndRead() throws {
        let control = try AccessControl(
            accessibility: .whenUnlocked,
            flags: [.biometryAny, .privateKeyUsage]
        )
        let make = try roundTrip(MakeKey(accessControl: control, context: 7, prompt: prompt))
        #expect(make.accessControl == control)
        #expect(make.context == 7)
        #expect(make.prompt == prompt)
        #expect(make.group == nil)
        let mail = AccessGroup("mail")
        let shared = try roundTrip(MakeKey(accessControl: control, group: mail, prompt: prompt))
        #expect(shared.group == mail)
        let read = try roundTrip(ReadKey(representation: [1, 2, 3], prompt: prompt))
        #expect(read.representation == [1, 2, 3])
        #expect(read.prompt == prompt)
    }

    @Test("each use round-trips, for each length of a digest")
    func uses() throws {
        let digests = [20, 32, 48, 64].map { KeyUse.sign(digest: [UInt8](repeating: 1, count: $0)) }
        let counted: [KeyUse] = [
            .signCounted(before: [1, 2], after: [3]), .signCounted(before: [], after: []),
            .signCounted(
                before: [UInt8](repeating: 1, count: KeyUse.longestPart),
                after: [UInt8](repeating: 2, count: KeyUse.longestPart)
            ),
        ]
        for use in digests + counted + [.agree(publicKey: point), .decrypt(publicKey: point)] {
            let back = try roundTrip(UseKey(representation: [5], use: use, context: 3, prompt: prompt))
            #expect(back.use == use)
            #expect(back.representation == [5])
            #expect(back.context == 3)
        }
    }

    @Test(
        "an invalid digest or public key is refused",
        arguments: [
            .sign(digest: []), .sign(digest: [UInt8](repeating: 0, count: 31)),
            .sign(digest: [UInt8](repeating: 0, count: 65)), .agree(publicKey: []),
            .agree(publicKey: [UInt8](repeating: 4, count: 64)),
            .decrypt(publicKey: [2] + [UInt8](repeating: 9, count: 64)),
            .decrypt(publicKey: [4] + [UInt8](repeating: 9, count: 65)),
            .signCounted(before: [UInt8](repeating: 0, count: KeyUse.longestPart + 1), after: []),
            .signCounted(before: [], after: [UInt8](repeating: 0, count: KeyUse.longestPart + 1)),
        ] as [KeyUse]
    )
    func malformedUse(use: KeyUse) throws {
        #expect(!use.isWellFormed)
        #expect(throws: KeychainError(.param)) {
            try roundTrip(UseKey(representation: [1], use: use, prompt: prompt))
        }
    }

    @Test("an operation that is not a use of a key is refused", arguments: [0, 1, 2, 6, UInt64.max])
    func otherOperation(number: UInt64) throws {
        var writer = WireWriter(SecretBuffer())
        writer.writeArrayHead(count: 5)
        writer.write(bytes: [1])
        writer.write(unsigned: number)
        writer.write(bytes: [UInt8](repeating: 0, count: 32))
        writer.writeNull()
        prompt.encode(to: &writer)
        let octets = writer.finish()
        #expect(throws: KeychainError(.param)) {
            try octets.withOctets { octets in
                try CBORReader.read(octets, limits: Frame.limits) { _ = try UseKey(from: &$0) }
            }
        }
    }

    @Test("an overlong representation is damaged")
    func longRepresentation() throws {
        let longest = [UInt8](repeating: 1, count: EnclaveKey.longestRepresentation)
        #expect(try roundTrip(ReadKey(representation: longest, prompt: prompt)).representation == longest)
        let error = #expect(throws: KeychainError(.decode)) {
            try roundTrip(ReadKey(representation: longest + [1], prompt: prompt))
        }
        #expect(error?.cause == .damaged)
    }

    @Test("replies round-trip, and those that no daemon sends are refused")
    func replies() throws {
        let key = EnclaveKey(
            representation: [1, 2],
            publicKey: point,
            accessControl: AccessControl(accessibility: .afterFirstUnlock),
            isHardware: true
        )
        #expect(try roundTrip(KeyReply(key)) == KeyReply(key))
        let counted = EnclaveKey(
            representation: [1, 2],
            publicKey: point,
            accessControl: key.accessControl,
            isHardware: true,
            isCounted: true
        )
        #expect(try roundTrip(KeyReply(counted)) == KeyReply(counted))
        let short = EnclaveKey(
            representation: [1, 2],
            publicKey: Array(point.dropLast()),
            accessControl: key.accessControl,
            isHardware: true
        )
        #expect(throws: WireError.malformed) { try roundTrip(KeyReply(short)) }
        let octets = [UInt8](repeating: 3, count: KeyResult.longest)
        let back = try roundTrip(KeyResult(SecretBytes(copying: octets))).take()
        let isSame = back.matches(SecretBytes(copying: octets))
        #expect(isSame)
        #expect(throws: WireError.malformed) {
            _ = try roundTrip(KeyResult(SecretBytes(copying: octets + [3])))
        }
    }
}
