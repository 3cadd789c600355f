import CBOR
import Foundation
import KeychainModel
import Testing

@testable import KeychainServer

/// The bytes of every message, as earlier and later versions of the programs send and expect them.
@Suite("Every message has the bytes that it always had")
struct PinnedMessageTests {
    enum Kind: String, CaseIterable, Sendable {
        case requests, replies, failures, broker

        func messages() throws -> [GoldenMessage] {
            switch self {
            case .requests: try GoldenRequests.all()
            case .replies: try GoldenReplies.all()
            case .failures: GoldenFailures.all()
            case .broker: GoldenBrokerPackets.all()
            }
        }
    }

    @Test("today's encoders write the golden bytes", arguments: Kind.allCases)
    func encodes(kind: Kind) throws {
        let messages = try kind.messages()
        let golden = try GoldenFile(kind.rawValue)
        let differences = golden.differences(from: messages)
        for line in differences { print("\(kind.rawValue): \(line)") }
        if GoldenFile.isWriting, !differences.isEmpty { try golden.write(messages) }
        let what = GoldenFile.isWriting ? "was written anew; review what changed" : "has other bytes"
        #expect(differences.isEmpty, "\(kind.rawValue) \(what):\n\(differences.joined(separator: "\n"))")
    }

    @Test("golden bytes decode to the value that they were made from", arguments: Kind.allCases)
    func decodes(kind: Kind) throws {
        let golden = try GoldenFile(kind.rawValue)
        for message in try kind.messages() {
            let octets = try #require(golden.octets[message.name], "\(message.name)")
            #expect(try message.recoded(octets) == octets, "\(message.name)")
            if let isEqual = message.isEqual { #expect(try isEqual(octets), "\(message.name)") }
        }
    }

    @Test("no two values of one message have the same bytes or the same name", arguments: Kind.allCases)
    func distinct(kind: Kind) throws {
        let messages = try kind.messages()
        #expect(Set(messages.map(\.name)).count == messages.count)
        for (method, messages) in Dictionary(grouping: messages, by: \.method) {
            var names: [[UInt8]: String] = [:]
            for message in messages {
                let other = names.updateValue(message.name, forKey: message.octets)
                #expect(other == nil, "\(message.name), \(method.map { "\($0)" } ?? kind.rawValue)")
            }
        }
    }

    @Test("each method has a request and a last reply", arguments: Method.allCases)
    func isComplete(method: Method) throws {
        let (requests, replies) = (try GoldenFile("requests"), try GoldenFile("replies"))
        for message in try GoldenRequests.of(method) {
            let octets = try #require(requests.octets[message.name])
            let head = try head(of: octets) { try RequestHead(from: &$0) }
            #expect(head == RequestHead(id: GoldenMessage.id, method: method))
        }
        let heads = try GoldenReplies.of(method).map { message in
            try head(of: try #require(replies.octets[message.name])) { try ReplyHead(from: &$0) }
        }
        #expect(heads.allSatisfy { $0.id == GoldenMessage.id && $0.status == .success })
        // Changes are reported until the request is cancelled.
        #expect(heads.contains { !$0.more } != (method == .watch))
    }

    @Test("the daemon's door reads every golden request", arguments: Method.allCases)
    func door(method: Method) throws {
        let golden = try GoldenFile("requests")
        let messages = try GoldenRequests.of(method)
        #expect(!messages.isEmpty)
        for message in messages {
            let octets = try #require(golden.octets[message.name])
            try GoldenMessage.read(octets) { reader in
                _ = try Request(try RequestHead(from: &reader).method, from: &reader)
            }
        }
    }

    @Test("the golden failures have every status and every code of the source")
    func everyStatus() throws {
        let sources: [(String, Set<String>)] = [
            ("Status.swift", Set(GoldenFailures.statuses.map(\.0))),
            ("Authentication/AuthenticationError.swift", Set(GoldenFailures.codes.map(\.0))),
        ]
        for (file, listed) in sources {
            let declared = try String(contentsOf: Self.model.appendingPathComponent(file), encoding: .utf8)
                .matches(of: /static let (\w+) = \w+\(rawValue:/).map { String($0.output.1) }
            #expect(Set(declared) == listed)
        }
    }

    private static let model = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Sources/Model/KeychainModel")

    private func head<Head>(of octets: [UInt8], _ read: (inout CBORReader) throws -> Head) throws -> Head {
        try GoldenMessage.read(octets) { reader in
            let head = try read(&reader)
            try reader.skipValue()
            return head
        }
    }
}
