import CBOR
import KeychainModel
import SecretMemory

@testable import KeychainClient

/// Replies with items as the client reads them.
enum ReceivedItems {
    /// Reads a reply as the client does, and encodes all that it tells of its items.
    static func recoded(_ octets: [UInt8]) throws -> [UInt8] {
        var start = 0
        let head = try GoldenMessage.read(octets) { reader in
            let head = try ReplyHead(from: &reader)
            start = reader.offset
            try reader.skipValue()
            return head
        }
        let replies = ItemReplies(returns: .known, reserved: nil)
        try replies.accept(try received(octets), bodyAt: start)
        var writer = CBORWriter([UInt8]())
        head.encode(to: &writer)
        let results = ItemResults(replies)
        writer.writeArrayHead(count: results.count)
        results.forEach { item in
            let (reference, attributes, invalidated) = (item.reference, item.attributes, item.invalidated)
            let parts: [Bool] = [reference != nil, attributes != nil, item.hasData, invalidated != nil]
            writer.writeMapHead(count: parts.count { $0 })
            if let reference {
                writer.write(unsigned: ItemField.reference)
                writer.write(bytes: reference.octets)
            }
            if let attributes {
                writer.write(unsigned: ItemField.attributes)
                writer.write(attributes)
            }
            _ = item.withData { data in
                writer.write(unsigned: ItemField.data)
                writer.write(bytes: data)
            }
            if let invalidated {
                writer.write(unsigned: ItemField.invalidated)
                writer.write(invalidated)
            }
        }
        return writer.finish()
    }

    /// A message as it arrives on a socket.
    private static func received(_ octets: [UInt8]) throws -> ReceivedMessage {
        var rest = withUnsafeBytes(of: UInt32(octets.count).bigEndian) { unsafe Array($0) } + octets
        var receiver = FrameReceiver()
        while true {
            if let message = try receiver.next() { return message }
            _ = try receiver.receive { room in
                let part = rest.prefix(room.count)
                unsafe room.copyBytes(from: part)
                rest.removeFirst(part.count)
                return part.count
            }
        }
    }
}
