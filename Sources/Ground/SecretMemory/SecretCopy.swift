import CLinux

/// Copies `octets` to the start of `target`, which may overlap them, and leaves none of them in the processor's
/// registers.
///
/// `target` has to have room for all of them. Bytes left in a register reach the stack with the next signal's frame,
/// and with the next lazily bound call of a shared library: at any later time, on whatever stack the thread uses
/// then.
@usableFromInline
package func copySecret(_ octets: UnsafeRawBufferPointer, to target: UnsafeMutableRawBufferPointer) {
    precondition(octets.count <= target.count, "no room for a secret")
    unsafe clinux_copy_secret(target.baseAddress, octets.baseAddress, octets.count)
}
