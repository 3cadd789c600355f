import CLinux

/// Copies `octets` to the start of `target`, which has room for all of them and may overlap; nothing of them stays in the
/// processor's registers.
///
/// What is left in a register goes to the stack with the next signal's frame, and with the first call of a function that a
/// shared library looks up then: any time later, on whatever stack the thread has by then.
@usableFromInline
package func copySecret(_ octets: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer) {
    precondition(octets.count <= target.count, "no room for a secret")
    unsafe clinux_copy_secret(target.baseAddress, octets.baseAddress, octets.count)
}
