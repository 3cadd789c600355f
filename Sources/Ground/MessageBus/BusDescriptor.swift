import Glibc

/// A descriptor received or sent over the bus; closed when the last reference is released.
package final class BusDescriptor: Hashable, Sendable {
    /// Its number in this process.
    package let number: CInt

    /// Takes over a descriptor.
    package init(adopting number: CInt) { self.number = number }

    deinit { close(number) }

    /// Compares identity.
    package static func == (lhs: BusDescriptor, rhs: BusDescriptor) -> Bool { lhs === rhs }

    /// Hashes the identity.
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
