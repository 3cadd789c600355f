internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// The framework's request context, with the client's address.
struct ServerContext: RemoteAddressRequestContext {
    var coreContext: CoreRequestContextStorage
    let remoteAddress: SocketAddress?

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        remoteAddress = source.channel.remoteAddress
    }
}
