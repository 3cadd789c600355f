import Glibc
import KeychainClient
import KeychainModel
import MessageBus
import SecretMemory
import SecretServiceModel

/// The methods of `org.freedesktop.impl.portal.Secret`, version 1: xdg-desktop-portal asks for the secret of a sandboxed program.
///
/// It is an item like others, by the attribute `app_id`, made when it is first asked for: 64 random bytes, from which the program derives
/// the keys of its own files. xdg-desktop-portal knows which program asks; whoever calls this itself can name any.
extension SecretsClient {
    /// The answers of `RetrieveSecret`.
    private enum Response: UInt32 {
        case success = 0
        case cancelled = 1
        case failed = 2
    }

    private static let schema = "org.freedesktop.impl.portal.Secret"
    private static let secretCount = 64
    private static let longestName = 255

    /// Whether a call is the portal's, which is answered beside the client's other calls: its program is not theirs.
    static func isPortal(_ call: Call) -> Bool {
        call.path == SecretNames.portalRoot || call.interface == SecretNames.portalRequest
    }

    func answerPortal(_ call: Call) throws(BusFault) -> [BusValue] {
        switch (call.interface ?? SecretNames.portal, call.member, call.arguments.count) {
        case (SecretNames.portal, "RetrieveSecret", 4):
            guard case .objectPath(let handle) = call.arguments[0],
                case .string(let name) = call.arguments[1],
                case .descriptor(let place) = call.arguments[2], call.arguments[3].signature == "a{sv}"
            else { break }
            return [.uint32(try retrieve(name, handle, into: place).rawValue), .properties([:])]
        case (SecretNames.portalRequest, "Close", 0):
            guard closePortal(call.path) else { throw .unknownObject(call.path) }
            return []
        case (SecretNames.properties, "Get", 2):
            guard call.arguments == [.string(SecretNames.portal), .string("version")] else {
                throw .unknownProperty(call.arguments[1].text ?? "")
            }
            return [.variant(.uint32(1))]
        case (SecretNames.properties, "GetAll", 1): return [.properties(["version": .uint32(1)])]
        case (SecretNames.introspectable, "Introspect", 0): return [.string(Introspection.portalDocument)]
        case (SecretNames.portal, "RetrieveSecret", _), (SecretNames.properties, "Get", _),
            (SecretNames.properties, "GetAll", _):
            break
        default: throw .unknownMethod(call.member)
        }
        throw .wrongArguments(call)
    }

    private func retrieve(
        _ name: String,
        _ handle: String,
        into place: BusDescriptor
    ) throws(BusFault) -> Response {
        guard name.utf8.count <= Self.longestName, !name.utf8.contains(0) else {
            throw .invalidArguments("a program has a name of at most \(Self.longestName) bytes")
        }
        return try closing(handle) { cancellation throws(BusFault) in
            do throws(BusFault) {
                // A prompt that ends without a gesture was cancelled, whatever ended it.
                if try store.isCold() {
                    guard (try? unlockKeychain(cancellation)) != nil else { return .cancelled }
                }
                let item = try portalItem(name)
                if try isLocked(item) {
                    guard (try? unlock(item, cancellation)) != nil else { return .cancelled }
                }
                var isWritten = false
                try read(item) { secret throws(BusFault) in isWritten = Self.write(secret, to: place.number) }
                return isWritten ? .success : .failed
            } catch {
                return error == .isLocked ? .cancelled : .failed
            }
        }
    }

    /// The item of a program, the oldest if there are several, made if there is none; by the attribute that GNOME Keyring's have too.
    private func portalItem(_ name: String) throws(BusFault) -> SecretItem {
        // Two requests at once make one.
        try shared.portalTurn { () throws(BusFault) in
            if let item = try store.items(having: ["app_id": name]).last { return item }
            let content = SecretItemContent(
                label: "Key of the program \(name.isEmpty ? "without a name" : name)",
                attributes: ["app_id": name, "xdg:schema": Self.schema],
                contentType: "application/octet-stream"
            )
            let collection = SecretNames.defaultCollection
            let made = try store.add(content, SecretBytes.random(count: Self.secretCount), in: collection)
            let path = SecretObject.item(collection: collection, name: made).path
            tell("ItemCreated", of: path, in: collection)
            guard let item = try store.item(made, in: SecretNames.defaultCollection) else {
                throw .failed("the key of the program is gone")
            }
            return item
        }
    }

    /// How long a secret may wait to be written: the place is the program's, and may be full.
    private static let patience: CInt = 5000

    /// Writes a secret to a pipe or a socket that its reader may have closed.
    private static func write(_ secret: Span<UInt8>, to place: CInt) -> Bool {
        var descriptor = pollfd(fd: place, events: Int16(POLLOUT), revents: 0)
        guard unsafe poll(&descriptor, 1, patience) == 1, descriptor.revents & Int16(POLLOUT) != 0 else {
            return false
        }
        return writeAll(secret, to: place)
    }

    private static func writeAll(_ secret: Span<UInt8>, to place: CInt) -> Bool {
        unsafe secret.withUnsafeBytes { octets in
            guard let start = octets.baseAddress else { return false }
            var count = 0
            while count < octets.count {
                let written = SystemCall.uninterrupted {
                    unsafe Glibc.write(place, start + count, octets.count - count)
                }
                guard written > 0 else { return false }
                count += written
            }
            return true
        }
    }
}
