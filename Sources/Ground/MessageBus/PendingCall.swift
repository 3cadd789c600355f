import Glibc

/// A call that waits for its reply; libsystemd holds one reference, ``Bus`` another.
final class PendingCall {
    private let bus: Bus
    private var reply: ((Bus.Reply) -> Void)?

    init(bus: Bus, reply: @escaping (Bus.Reply) -> Void) {
        self.bus = bus
        self.reply = reply
    }

    func finish(_ message: consuming BusMessage) {
        bus.forget(self)
        if let error = message.error { return end(.failure(error)) }
        do throws(BusError) {
            end(.success(try message.arguments()))
        } catch {
            end(.failure(.malformed))
        }
    }

    func end(_ result: Bus.Reply) { reply.take()?(result) }

    /// The connection was freed before the reply: libsystemd has forgotten its reference.
    func abandon() {
        unsafe Unmanaged.passUnretained(self).release()
        end(.failure(.system(errno: ENOTCONN)))
    }
}
