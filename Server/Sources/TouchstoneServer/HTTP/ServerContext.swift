internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// What the framework keeps of a request, and the address that it came from.
struct ServerContext: RemoteAddressRequestContext {
    var coreContext: CoreRequestContextStorage
    let remoteAddress: SocketAddress?

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        remoteAddress = source.channel.remoteAddress
    }
}
