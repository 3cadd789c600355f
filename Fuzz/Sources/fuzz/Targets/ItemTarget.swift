import CBOR
import Foundation
@_spi(AuthenticationEngine) import KeychainModel
import Primitives
import SecretMemory

@testable import KeychainEngine

/// An item's decrypted attributes and its wrapped key, as read from a row.
enum ItemTarget: FuzzTarget {
    static let name = "item"

    static func run(_ input: Span<UInt8>) {
        unsafe input.withUnsafeBytes { octets in
            guard let opened = unsafe OpenedHeader(octets) else { return }
            runHeader(opened)
            runContent(opened)
        }
        runKeyWrap(input.array)
        runMatch(input)
    }

    /// The input as a map that a search examines.
    private static func runMatch(_ input: Span<UInt8>) {
        let wanted = AttributeMatch(Example.attributes, primaryKey: [.account, .service])
        let isMatch = unsafe input.withUnsafeBytes { unsafe wanted.matches($0) }
        let attributes = try? CBORReader.read(input) { try $0.readAttributes() }
        guard let attributes else { return }
        let isEqual = Example.attributes.allSatisfy { key, value in attributes[key] == value }
        require(isMatch || !isEqual, "a map with all that is wanted matches")
        for (key, value) in attributes {
            let single = AttributeMatch([key: value], primaryKey: [])
            require(
                unsafe input.withUnsafeBytes { unsafe single.matches($0) },
                "a map has each of its attributes"
            )
            let other = AttributeMatch([key: .data([1, 2, 3, 4, 5])], primaryKey: [])
            let isOther = unsafe input.withUnsafeBytes { unsafe other.matches($0) }
            require(isOther == (value == .data([1, 2, 3, 4, 5])), "a map has no other value")
        }
    }

    private static func runHeader(_ opened: OpenedHeader) {
        let (header, digests, attributes) = unsafe (opened.header, opened.digests, opened.attributes)
        require(header.count == opened.byteCount, "the header ends where the attributes start")
        require(
            digests.count == LookupDigests.byteCount && attributes.count > 0,
            "all digests, some attributes"
        )
        for epoch in [0, opened.epoch, opened.epoch &+ 1] {
            guard let control = opened.accessControl(atEpoch: epoch) else {
                require(opened.flags.contains(.biometryCurrentSet), "only a bound item is invalidated")
                continue
            }
            guard let control else { continue }
            require(
                control.constraints.isEmpty == (opened.accessControl?.constraints.isEmpty ?? true),
                "a change of fingers leaves constraints"
            )
        }
    }

    private static func runContent(_ opened: OpenedHeader) {
        let content: ItemContent
        do throws(KeychainError) {
            content = try ItemContent(opened)
        } catch {
            require(error.status == .decode, "a damaged item is damaged, not \(error)")
            return
        }
        let map = cbor { content.write(to: &$0) }
        let attributes = try? CBORReader.read(map) { try $0.readAttributes() }
        guard let attributes else { fatalError("an item's attributes read back") }
        require(attributes[.accessGroup] == .string(content.group), "the group is the header's")
        require(cbor { $0.write(attributes) } == map, "attributes have one encoding")
    }

    /// All keys of a keybag.
    static let keys: KeyRing = {
        let seal = Key(SecretBytes(copying: octets(32)))
        let ring = try? KeyRing(seal: seal) { name in
            Key(SecretBytes(copying: octets(32, from: name.rawValue)))
        }
        guard let ring else { fatalError("a ring with all keys is whole") }
        return ring
    }()
    /// A proof that satisfies every constraint.
    static let proof = AuthenticationProof(
        factors: [.biometry, .passcode],
        satisfied: Set(AccessConstraint.allCases),
        operation: nil,
        time: BootTime(bootID: "b", nanoseconds: 1),
        context: ContextID(connection: 1, number: 1),
        passcodeKey: PasscodeKey(SecretBytes(copying: octets(32))),
        isOfWeakSensor: false
    )

    private static func runKeyWrap(_ octets: [UInt8]) {
        if let rest = ItemKeyWrap.withoutCurrentSet(octets) {
            require(rest.count <= octets.count, "ways only go away")
        }
        for control in Example.accessControls {
            do throws(KeychainError) {
                _ = try ItemKeyWrap.open(
                    octets,
                    control: control,
                    keys: keys,
                    proofs: [proof],
                    password: nil,
                    authenticating: []
                )
                fatalError("a key that nobody wrapped")
            } catch {
                require(error.status == .decode || error.status == .authFailed, "no key, not \(error)")
            }
        }
    }

    static func seeds() -> [[UInt8]] {
        var seeds: [[UInt8]] = []
        for itemClass in ItemClass.allCases {
            for control in Example.accessControls {
                for group in ["", "/usr/bin/mail", "gr\u{FC}n"] {
                    let map = cbor { content(itemClass, control, group).write(to: &$0) }
                    seeds.append(header(itemClass, control, group) + map)
                }
            }
        }
        for count in [0, 1, 2, 3] {
            let way =
                [UInt8(count)] + octets(PasscodeConstraint.publicKeyByteCount + ItemKeyWrap.wrapByteCount)
            seeds.append([2, UInt8(count)] + (0..<count).flatMap { _ in way })
        }
        seeds.append([1] + octets(ItemKeyWrap.wrapByteCount))
        let maps = [Example.attributes, [:], [.generic: .data([1, 2, 3, 4, 5])]].map { attributes in
            cbor { $0.write(attributes) }
        }
        return seeds + damaged(seeds[10], most: 8) + maps + damaged(maps[0], most: 8)
    }

    private static func header(_ itemClass: ItemClass, _ control: AccessControl, _ group: String) -> [UInt8] {
        ItemHeader(
            generation: 3,
            epoch: control.flags.contains(.biometryCurrentSet) ? 2 : 0,
            itemClass: itemClass,
            accessControl: control,
            group: group,
            digests: LookupDigests(octets: octets(LookupDigests.byteCount))
        ).encoded()
    }

    private static func content(_ itemClass: ItemClass, _ control: AccessControl, _ group: String)
        -> ItemContent
    {
        ItemContent(
            itemClass: itemClass,
            group: group,
            attributes: Example.attributes,
            accessControl: control,
            created: 1_700_000_000_000_000
        )
    }
}
