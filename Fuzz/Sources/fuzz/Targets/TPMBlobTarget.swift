import CTSS2
import KeychainModel

@testable import TPMDriver

/// The blobs that the TPM driver returns to its callers for storage, and the TPM structures inside them.
enum TPMBlobTarget: FuzzTarget {
    static let name = "tpm-blob"

    private static let kinds: [TPMBlob.Kind] = [.keybag, .epoch, .generation, .escrow, .privateKey]

    static func run(_ input: Span<UInt8>) {
        var read = 0
        for kind in kinds {
            do throws(TPMError) {
                let blob = try TPMBlob(input.array, kind)
                read += 1
                require(blob.encoded() == input.array, "a blob has one encoding")
                if let index = blob.index { require(NVIndex.handles.contains(index), "an index of ours") }
                if let object = blob.object { runArea(object.area) }
            } catch {
                guard case .damaged = error else { fatalError("broken promise: damaged, not \(error)") }
            }
        }
        require(read <= 1, "a blob of one kind is no blob of another")
        runArea(input.array)
        runPoint(input.array)
    }

    private static func runArea(_ octets: [UInt8]) {
        guard let area = try? PublicArea.read(octets) else { return }
        let isOurs = PrivateKeyTemplate.describes(area)
        guard let written = try? PublicArea.octets(of: area) else {
            require(!isOurs, "our own public areas are written")
            return
        }
        guard let again = try? PublicArea.read(written) else {
            fatalError("broken promise: a public area reads back")
        }
        require(PrivateKeyTemplate.describes(again) == isOurs, "a public area means the same again")
        let twice = try? PublicArea.octets(of: again)
        require(twice == written, "a public area has one encoding")
        if isOurs {
            let key = P256Octets.x963(unsafe area.publicArea.unique.ecc)
            require(key.count >= HardwareKey.publicKeyOctetCount, "a key of P-256")
        }
    }

    private static func runPoint(_ octets: [UInt8]) {
        guard let point = P256Octets.point(x963: octets) else { return }
        require(P256Octets.x963(point.point) == octets, "a point reads back")
    }

    static func seeds() -> [[UInt8]] {
        guard let template = try? PrivateKeyTemplate.make(), let area = try? PublicArea.octets(of: template)
        else {
            fatalError("no template")
        }
        let name = [0, 0x0B] + octets(32)
        let object = WrappedObject(sensitive: octets(126), area: area)
        let blobs = [
            TPMBlob(kind: .keybag, primaryName: name, index: NVIndex.handles.lowerBound, object: object),
            TPMBlob(
                kind: .epoch,
                primaryName: name,
                index: NVIndex.handles.upperBound,
                object: object,
                value: 7
            ),
            TPMBlob(kind: .generation, primaryName: name, index: NVIndex.handles.lowerBound, value: .max),
            TPMBlob(kind: .escrow, primaryName: name, object: object),
            TPMBlob(kind: .privateKey, primaryName: name, object: object),
            TPMBlob(kind: .privateKey, primaryName: []),
            TPMBlob(kind: .keybag, primaryName: name, index: 0x0100_0000),
        ]
        let seeds = blobs.map { $0.encoded() }
        return seeds + seeds.flatMap { damaged($0, most: 8) } + [area] + damaged(area, most: 6)
            + [[4] + octets(64)]
    }
}
