import CBOR
import KeychainModel
import SecretMemory

/// A parser of external input.
protocol FuzzTarget: Sendable {
    /// The name on the command line and of the directories of seeds and fail cases.
    static var name: String { get }
    /// Processes one input; anything but returning is a finding.
    static func run(_ input: Span<UInt8>)
    /// Initial inputs, deterministic.
    static func seeds() -> [[UInt8]]
}

/// All targets, by name.
enum FuzzTargets {
    static let all: [any FuzzTarget.Type] = [
        CBORTarget.self, FramesTarget.self, RepliesTarget.self, AccessControlTarget.self, KeybagTarget.self,
        AttemptsTarget.self, ItemTarget.self, ItemLogTarget.self, ItemTagsTarget.self, AssuanTarget.self,
        PromptsTarget.self, QueryTarget.self,
        KeyAttributesTarget.self, PrivateKeyTarget.self, TPMBlobTarget.self, AttestationTarget.self,
        ConfigurationTarget.self, AccessGroupTarget.self, FprintTarget.self, CredentialFormsTarget.self,
        SSHTarget.self, SecretServiceTarget.self,
    ]

    static func named(_ name: String) -> (any FuzzTarget.Type)? { all.first { $0.name == name } }
}

/// Ends the process, which is a finding, unless `condition` holds.
func require(_ condition: Bool, _ promise: @autoclosure () -> String) {
    if !condition { fatalError("broken promise: \(promise())") }
}

extension Span<UInt8> {
    /// A copy.
    var array: [UInt8] { unsafe withUnsafeBytes { unsafe [UInt8]($0) } }

    /// The bytes as text, with invalid UTF-8 replaced.
    var text: String { unsafe withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) } }
}

/// The CBOR that `write` writes.
func cbor(_ write: (inout CBORWriter<[UInt8]>) -> Void) -> [UInt8] {
    var writer = CBORWriter([UInt8]())
    write(&writer)
    return writer.finish()
}

/// A body as encoded on the wire.
func wire<Body: WireBody & ~Copyable>(_ body: borrowing Body) -> [UInt8] {
    var writer = WireWriter(SecretBuffer())
    body.encode(to: &writer)
    return writer.finish().withOctets { $0.array }
}

/// Bytes for a seed: `count` of them, counting up from `first`.
func octets(_ count: Int, from first: UInt8 = 1) -> [UInt8] {
    (0..<count).map { first &+ UInt8(truncatingIfNeeded: $0) }
}

/// Variants of a valid input, each with a defect: truncated ends, flipped bytes.
func damaged(_ whole: [UInt8], most: Int = 4) -> [[UInt8]] {
    guard whole.count > 1 else { return [] }
    return (1...most).map { number in
        let place = whole.count * number / (most + 1)
        if number.isMultiple(of: 2) { return Array(whole[..<place]) }
        var flipped = whole
        flipped[place] ^= 0x55
        return flipped
    }
}
