import Glibc

/// A descriptor that came over the bus, or goes over it; closed with its last owner.
package final class BusDescriptor: Hashable, Sendable {
    /// Its number in this process.
    package let number: CInt

    /// Takes over a descriptor.
    package init(adopting number: CInt) { self.number = number }

    deinit { close(number) }

    /// Each is equal to itself alone.
    package static func == (lhs: BusDescriptor, rhs: BusDescriptor) -> Bool { lhs === rhs }

    /// Hashes the identity.
    package func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
