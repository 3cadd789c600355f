import BrokerProtocol

/// Every packet of the broker: the requests, and a reply with each field and each kind of value.
enum GoldenBrokerPackets {
    static func all() -> [GoldenMessage] {
        let requests: [(String, BrokerRequest)] = [
            ("identify", .identify), ("enrolment", .enrolment(uid: 1000)),
            ("enrolment of the highest user", .enrolment(uid: .max - 1)),
        ]
        return requests.map { name, request in
            GoldenMessage(
                name: "request: \(name)",
                octets: request.packet,
                recoded: { try GoldenValues.some(BrokerRequest(packet: $0)).packet },
                isEqual: { BrokerRequest(packet: $0) == request }
            )
        }
            + replies().map { name, reply in
                GoldenMessage(
                    name: "reply: \(name)",
                    octets: reply.packet,
                    recoded: { try GoldenValues.some(BrokerReply(packet: $0)).packet },
                    isEqual: { BrokerReply(packet: $0) == reply }
                )
            }
    }

    private static func replies() -> [(String, BrokerReply)] {
        var everything = BrokerReply()
        for (index, field) in BrokerReply.Field.allCases.enumerated() {
            everything[field] = value(field, UInt64(index) * 100)
        }
        let single: [(String, BrokerReply)] = BrokerReply.Field.allCases.flatMap { field in
            var (told, unknown) = (BrokerReply(), BrokerReply())
            told[field] = value(field, 1)
            unknown[field] = .untold("why")
            return [("\(field.rawValue)", told), ("\(field.rawValue) unknown", unknown)]
        }
        return [
            ("every field", everything), ("no field", BrokerReply()),
            ("a refusal", BrokerReply(refused: "no")), ("a fault", BrokerReply(fault: "gone")),
        ] + single
    }

    private static func value(_ field: BrokerReply.Field, _ number: UInt64) -> BrokerReply.Value {
        switch field {
        case .path, .flatpak, .refused, .fault, .startedBy: .text("/usr/bin/app \(number)")
        case .digest: .bytes(GoldenValues.bytes(UInt8(truncatingIfNeeded: number), 32))
        case .device, .inode, .owner, .mode, .deleted, .start, .terminal, .session, .sessionStart, .tracer,
            .namespaces, .count:
            .number(number)
        }
    }
}
