import CLinux

/// Comparison that does not reveal where two values differ.
public enum ConstantTime {
    /// Whether both hold the same bytes, in time that depends on the lengths alone.
    public static func areEqual(_ one: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
        guard one.count == other.count else { return false }
        return unsafe one.withUnsafeBytes { one in
            unsafe other.withUnsafeBytes { other in unsafe areEqual(one, other) }
        }
    }

    /// ``areEqual(_:_:)-(Span<UInt8>,_)`` for arrays, such as two digests.
    public static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        areEqual(one.span, other.span)
    }

    // Never inlined: within a caller, the optimiser could turn the loop into one that stops early.
    @inline(never)
    private static func areEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        // The optimised loop compares many bytes at once, in vector registers.
        defer { clinux_wipe_vector_registers() }
        var difference: UInt8 = 0
        for index in one.indices { unsafe difference |= one[index] ^ other[index] }
        return difference == 0
    }
}
