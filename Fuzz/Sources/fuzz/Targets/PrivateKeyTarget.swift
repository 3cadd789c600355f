import CBOR
import Foundation
@_spi(AuthenticationEngine) import KeychainModel
import Primitives
import SecretMemory

@testable import KeychainEngine

/// A private key's representation: the input as it is, and sealed as the inner record.
enum PrivateKeyTarget: FuzzTarget {
    static let name = "private-key"

    private static let storeID = octets(16)
    private static let epoch: UInt64 = 2
    private static let context = ItemContext(
        of: KeybagRecord(
            storeID: storeID,
            cost: .test,
            salt: octets(KeybagRecord.saltByteCount),
            assurance: .test,
            blob: [],
            passcodeWrap: [],
            recoveryWrap: [],
            keys: [:],
            epoch: epoch,
            enrolment: nil,
            hasFingers: true,
            passcodePublicKey: octets(PasscodeConstraint.publicKeyByteCount),
            passcodePrivateWrap: [],
            passcodePrivateRecoveryWrap: [],
            hardware: nil
        ),
        ItemTarget.keys
    )
    /// The data that a representation is bound to.
    private static let label = Array("touchstone 1 private key ".utf8) + storeID

    static func run(_ input: Span<UInt8>) {
        require(read(input.array) == nil, "no record that nobody sealed")
        let sealed = unsafe input.withUnsafeBytes { octets in
            unsafe AEAD.seal(octets, with: metadata, authenticating: label)
        }
        for format in [PrivateKeyRecord.format, PrivateKeyRecord.limitedFormat] {
            guard let record = read([format] + sealed) else { continue }
            require((format == PrivateKeyRecord.format) == (record.limits == .none), "a format for limits")
            require(content(of: record) == input.array, "a record has one encoding")
            runOpening(record)
        }
    }

    private static func runOpening(_ record: PrivateKeyRecord) {
        for current in [record.epoch, record.epoch &+ 1] {
            guard let control = record.accessControl(atEpoch: current) else {
                require(record.epoch != 0, "only a key bound to a set is invalidated")
                continue
            }
            require(
                control.constraints.isEmpty == record.accessControl.constraints.isEmpty,
                "a change of fingers leaves constraints"
            )
            runAuthorization(record, control)
        }
    }

    private static func runAuthorization(_ record: PrivateKeyRecord, _ control: AccessControl) {
        do throws(KeychainError) {
            _ = try record.authorization(
                control,
                proofs: [ItemTarget.proof],
                password: nil,
                in: context
            )
            fatalError("broken promise: no authorisation that nobody wrapped")
        } catch {
            require(error.status == .decode || error.status == .authFailed, "no authorisation, not \(error)")
        }
    }

    private static func read(_ representation: [UInt8]) -> PrivateKeyRecord? {
        do throws(KeychainError) {
            return try PrivateKeyRecord(representation, in: context)
        } catch {
            require(error.status == .decode, "a damaged key is damaged, not \(error)")
            return nil
        }
    }

    private static var metadata: AEADKey { context.metadata }

    /// The content that a record seals.
    private static func content(of record: PrivateKeyRecord) -> [UInt8] {
        let opened = try? unsafe AEAD.open(
            Array(try record.sealed(in: context).dropFirst()),
            with: metadata,
            authenticating: label
        ) { unsafe [UInt8]($0) }
        guard let opened else { fatalError("broken promise: a record opens again") }
        return opened
    }

    static func seeds() -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for control in Example.accessControls {
            for (name, isHardware) in [("/usr/bin/mail", true), ("gr\u{FC}n", false)] {
                // Each control with one of the two: a key without limits, and one with.
                let limits = isHardware ? .none : (try? KeyLimits(starts: 1, ends: 1 << 50, uses: 3)) ?? .none
                guard let group = AccessGroup(name),
                    let record = record(control, group, isHardware, limits)
                else { continue }
                seeds.append(withoutChance(content(of: record)))
            }
        }
        return seeds + seeds.flatMap { damaged($0) } + [[], [0x82, 0x40, 0x40], [PrivateKeyRecord.format]]
    }

    private static func record(
        _ control: AccessControl,
        _ group: AccessGroup,
        _ isHardware: Bool,
        _ limits: KeyLimits
    ) -> PrivateKeyRecord? {
        try? PrivateKeyRecord(
            HardwareKey(blob: octets(200), publicKey: [4] + octets(64)),
            isHardware: isHardware,
            authorization: Key(SecretBytes(copying: octets(32))),
            accessControl: control,
            group: group,
            limits: limits,
            password: Key(SecretBytes(copying: octets(32, from: 9))),
            in: context
        )
    }

    /// The same content with fixed bytes instead of the wraps, which differ each time.
    private static func withoutChance(_ content: [UInt8]) -> [UInt8] {
        let parts = try? CBORReader.read(content) { reader in
            _ = try reader.readArrayHead()
            return (try reader.readBytes(), try reader.readBytes())
        }
        guard let (header, wraps) = parts, let kind = wraps.first else { return content }
        return cbor { writer in
            writer.writeArrayHead(count: 2)
            writer.write(bytes: header)
            writer.write(bytes: [kind] + octets(wraps.count - 1))
        }
    }
}
