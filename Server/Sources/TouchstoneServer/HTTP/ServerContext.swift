internal import Hummingbird
internal import HummingbirdCore
internal import NIOCore

/// The framework's request context, with the client's address and its connection.
struct ServerContext: RemoteAddressRequestContext {
    var coreContext: CoreRequestContextStorage
    let remoteAddress: SocketAddress?
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
        remoteAddress = source.channel.remoteAddress
    }
}
