import Foundation
import SecretMemory

extension SecretBytes {
    /// Copies what a library lends, whose owner still has to wipe it.
    init(lent octets: some ContiguousBytes) {
        let count = octets.withUnsafeBytes(\.count)
        self.init(count: count) { copy in
            octets.withUnsafeBytes { octets in copy.withUnsafeMutableBytes { $0.copyMemory(from: octets) } }
        }
    }
}
