import Glibc
import KeychainClient
import KeychainModel
import MessageBus
import SecretMemory
import SecretServiceModel

@testable import TouchstoneSecrets

/// Calls of two clients of the Secret Service, with any values, in front of a keychain that does not answer; and what is stored of items,
/// rules and reads.
enum SecretServiceTarget: FuzzTarget {
    static let name = "secret-service"

    private static let keychain: RemoteKeychain = {
        guard let layout = Layout(variable: { $0 == "TOUCHSTONE_HOME" ? "/nonexistent" : nil }) else {
            fatalError("no layout")
        }
        return RemoteKeychain(layout: layout, daemon: .none)
    }()

    static func run(_ input: Span<UInt8>) {
        var choices = Choices(input)
        switch choices.octet() % 4 {
        case 0: return runModel(&choices)
        case 2: return runTable(&choices)
        default: break
        }
        var world = World()
        while !choices.isAtEnd { world.step(&choices) }
        for client in world.clients { client.end() }
    }

    private static func runModel(_ choices: inout Choices) {
        var content = SecretItemContent(label: choices.text(), contentType: choices.text())
        for _ in 0..<Int(choices.octet() % 8) { content.attributes[choices.text()] = choices.text() }
        let reading = ReadingOptions(window: Int(choices.octet()) + 1, waits: choices.octet() & 1 == 1)
        guard let reference = PersistentReference(octets: octets(16)) else { fatalError("16 octets") }
        if content.fault == nil {
            var readers = ProgramFiles()
            for _ in 0..<Int(choices.octet() % 20) {
                let file = ProgramFile(path: choices.text(), inode: UInt64(choices.octet()))
                let added = readers.adding(file)
                let isKept = added.contains(file) && added.files.last == file
                require(isKept || added == readers, "a program is added, or cannot be")
                readers = added
                require(readers.files.count <= ProgramFiles.most, "the programs are bounded")
            }
            let stored = SecretItem.attributes(of: "name", in: "login", content, reading, readers: readers)
            let item = SecretItem(stored, reference)
            require(item?.content == content, "an item is read as it was stored")
            require(item?.reading == reading, "its options are too")
            require(item?.readers == readers, "so are its programs")
            let rule = ProtectionRule(
                name: "rule",
                attributes: content.attributes,
                accessControl: AccessControl(accessibility: .afterFirstUnlock),
                reading: reading,
                audience: choices.element(of: [
                    .everyone, .programs(["p", "q"]), .strangers(includesProgramKeys: false),
                    .strangers(includesProgramKeys: true),
                ])
            )
            require(ProtectionRule(rule.stored, reference) == rule, "a rule is read as it was stored")
        }
        var attributes: ItemAttributes = [:]
        for _ in 0..<Int(choices.octet() % 8) {
            attributes[AttributeKey(rawValue: choices.element(of: keys) + choices.text())] = .string(
                choices.text()
            )
        }
        _ = SecretItem(attributes, reference)
        _ = ProtectionRule(attributes, reference)
        let rest = choices.rest()
        guard let reads = try? SecretReads(rest.span) else { return }
        require(
            reads.octets == rest || !reads.reads.allSatisfy(\.factors.isEmpty),
            "records have one encoding"
        )
    }

    /// Items that come, change and go; a search finds what reading all of them finds.
    private static func runTable(_ choices: inout Choices) {
        var items: [ItemTable.Place: SecretItem] = [:]
        var table = ItemTable()
        while !choices.isAtEnd {
            let collection = choices.element(of: ["login", "work", SecretRecords.aliases])
            let place = ItemTable.Place(
                collection: collection,
                name: choices.element(of: ["a", "b", "c", "d"])
            )
            var pairs: [String: String] = [:]
            for _ in 0..<Int(choices.octet() % 3) {
                pairs[choices.element(of: ["x", "y", "z"])] = choices.element(of: ["1", "2"])
            }
            switch choices.octet() % 4 {
            case 0:
                table[place] = nil
                items[place] = nil
            case 1:
                let wanted = choices.octet() & 1 == 0 ? collection : nil
                let found = table.items(in: wanted, having: pairs).map(\.place)
                let expected = items.values.filter { item in
                    (wanted ?? item.collection) == item.collection
                        && pairs.allSatisfy { item.content.attributes[$0.key] == $0.value }
                }.map(\.place)
                require(
                    found.count == expected.count && Set(found) == Set(expected),
                    "a search finds all, once"
                )
            case 2: table = ItemTable(Array(items.values))
            default:
                let content = SecretItemContent(label: "label", attributes: pairs)
                let stored = SecretItem.attributes(of: place.name, in: collection, content)
                guard let reference = PersistentReference(octets: octets(16)) else { return }
                var texts: Set<String> = []
                let item = SecretItem(stored, reference)?.packed(sharing: &texts)
                table[place] = item
                items[place] = item
            }
            require(table[place] == items[place], "an item is where it was put")
        }
    }

    private static let keys = [
        "fs.", "fs#", "fs:reading", "fs:programs", "fs:foreign", "fs:readers", "fs:type", "svce", "acct", "",
    ]

    /// A client's objects, and what the session's collection has.
    private struct World {
        let clients: [SecretsClient]
        var sessions: [[String]] = [[], []]
        var plain: Set<String> = []
        var items: [String] = []
        var prompts: [String] = []
        var secrets: [String: [UInt8]] = [:]

        init() {
            let shared = SecretsShared(of: SecretServiceTarget.keychain, place: PromptOrigin())
            clients = [":1.1", ":1.2"].map {
                SecretsClient($0, .thisProcess, of: SecretServiceTarget.keychain, shared: shared)
            }
        }

        mutating func step(_ choices: inout Choices) {
            let number = Int(choices.octet() & 1)
            let call = call(&choices)
            let reply: [BusValue]
            do throws(BusFault) {
                reply =
                    SecretsClient.isPortal(call)
                    ? try clients[number].answerPortal(call) : try clients[number].answer(call)
            } catch {
                require(!error.name.isEmpty && error.name.contains("."), "an error has a name of the bus")
                return
            }
            note(call, reply, of: number)
        }

        private mutating func note(_ call: SecretsClient.Call, _ reply: [BusValue], of number: Int) {
            switch (call.member, reply.count) {
            case ("OpenSession", 2):
                guard let path = reply[1].text else { return }
                sessions[number].append(path)
                if call.arguments.first == .string("plain") { plain.insert(path) }
            case ("CreateItem", 2):
                guard let path = reply[0].text, path != "/" else { return }
                items.append(path)
                keep(call.arguments[1], at: path, of: number)
            case ("SetSecret", 0): keep(call.arguments[0], at: call.path, of: number)
            case ("Delete", 1): secrets[call.path] = nil
            case ("Unlock", 2), ("Lock", 2):
                if let prompt = reply[1].text, prompt != "/" { prompts.append(prompt) }
            case ("GetSecret", 1): check(reply[0], at: call.path, of: number)
            case ("GetSecrets", 1):
                guard case .array(_, let entries) = reply[0] else { return }
                for case .entry(let path, let secret) in entries {
                    check(secret, at: path.text ?? "", of: number)
                }
            default: break
            }
        }

        private mutating func keep(_ secret: BusValue, at path: String, of number: Int) {
            guard case .structure(let members) = secret, members.count == 4, let session = members[0].text
            else { return }
            require(sessions[number].contains(session), "a secret comes by a session of its client")
            secrets[path] = plain.contains(session) ? members[2].octets?.plain : nil
        }

        private func check(_ secret: BusValue, at path: String, of number: Int) {
            guard case .structure(let members) = secret, members.count == 4, let session = members[0].text
            else { fatalError("a secret has four members") }
            require(sessions[number].contains(session), "a secret leaves by a session of its client")
            guard plain.contains(session), let kept = secrets[path] else { return }
            require(members[2].octets?.plain == kept, "a secret is the one that was stored")
        }

        // MARK: Calls

        private func call(_ choices: inout Choices) -> SecretsClient.Call {
            let interface = choices.element(of: SecretServiceTarget.interfaces)
            return SecretsClient.Call(
                number: 1,
                path: path(&choices),
                interface: interface.isEmpty ? nil : interface,
                member: choices.element(of: SecretServiceTarget.members),
                arguments: (0..<Int(choices.octet() % 5)).map { _ in value(&choices, depth: 0) }
            )
        }

        private func path(_ choices: inout Choices) -> String {
            let known = SecretServiceTarget.paths + items + sessions[0] + sessions[1] + prompts
            return choices.octet() & 7 == 0 ? choices.text() : choices.element(of: known)
        }

        private func value(_ choices: inout Choices, depth: Int) -> BusValue {
            switch choices.octet() % (depth < 3 ? 16 : 8) {
            case 0: return .string(choices.text())
            case 1: return .objectPath(path(&choices))
            case 2: return .boolean(choices.octet() & 1 == 1)
            case 3: return .uint32(UInt32(truncatingIfNeeded: choices.number()))
            case 4: return (try? BusOctets(copying: choices.octetString())).map { .octets($0) } ?? .byte(0)
            case 5: return .string(choices.element(of: SecretServiceTarget.texts))
            case 6: return .uint64(choices.number())
            case 7:
                return .descriptor(BusDescriptor(adopting: unsafe open("/dev/null", O_WRONLY | O_CLOEXEC)))
            case 8: return .variant(value(&choices, depth: depth + 1))
            case 9: return secret(&choices)
            case 10: return .paths((0..<Int(choices.octet() % 4)).map { _ in path(&choices) })
            case 11: return pairs(&choices)
            case 12:
                return .properties([
                    SecretNames.item + ".Label": .string(choices.text()),
                    SecretNames.item + ".Attributes": pairs(&choices),
                ])
            case 13: return .properties([choices.text(): value(&choices, depth: depth + 1)])
            case 14:
                return .structure(
                    (0..<Int(choices.octet() % 5)).map { _ in value(&choices, depth: depth + 1) }
                )
            default:
                let element = value(&choices, depth: depth + 1)
                return .array(of: element.signature, [element])
            }
        }

        private func secret(_ choices: inout Choices) -> BusValue {
            let session = sessions[Int(choices.octet() & 1)].last ?? "/"
            guard let parameters = try? BusOctets(copying: choices.octet() & 3 == 0 ? octets(16) : []),
                let value = try? BusOctets(copying: choices.octetString())
            else { return .byte(0) }
            return .structure([
                .objectPath(session), .octets(parameters), .octets(value), .string(choices.text()),
            ])
        }

        private func pairs(_ choices: inout Choices) -> BusValue {
            var pairs: [String: String] = [:]
            for _ in 0..<Int(choices.octet() % 4) { pairs[choices.text()] = choices.text() }
            return .textPairs(pairs)
        }
    }

    private static let root = SecretNames.root
    private static let paths = [
        root, root + "/collection/session", root + "/collection/login", root + "/aliases/default",
        root + "/aliases/session", "/", root + "/collection", SecretNames.portalRoot,
        SecretNames.portalRoot + "/request/1_1/t",
    ]
    private static let interfaces = [
        "", SecretNames.service, SecretNames.collection, SecretNames.item, SecretNames.session,
        SecretNames.prompt, SecretNames.properties, SecretNames.introspectable, SecretNames.leases,
        SecretNames.portal, SecretNames.portalRequest,
    ]
    private static let members = [
        "OpenSession", "CreateItem", "GetSecret", "GetSecrets", "SetSecret", "SearchItems", "Unlock", "Lock",
        "Delete", "Get", "GetAll", "Set", "Introspect", "Close", "Dismiss", "ReadAlias", "SetAlias",
        "CreateCollection", "List", "End", "RetrieveSecret", "Prompt",
    ]
    private static let texts = [
        "plain", TransferSession.agreement, SecretNames.item, SecretNames.collection, "Label", "Attributes",
        "Locked", "default", "version",
    ]

    static func seeds() -> [[UInt8]] {
        // A session, an item in memory, its secret; each with another length, client and path.
        let open: [UInt8] = [0, 1, 1, 0, 0, 2, 5, 0, 8, 5, 20]
        var seeds: [[UInt8]] = []
        for number in UInt8(0)..<40 {
            var seed = ChoiceWriter()
            seed.write(1 as UInt8)
            for octet in open { seed.write(octet) }
            for octet in [number & 1, 2, 1, 1, 1, 3, 12] as [UInt8] { seed.write(octet) }
            seed.write("label \(number)")
            seed.write(number % 4)
            for pair in 0..<Int(number % 4) {
                seed.write("n\(pair)")
                seed.write("v\(number)")
            }
            for octet in [9, 0, 1] as [UInt8] { seed.write(octet) }
            seed.write(octets(Int(number) * 3))
            seed.write("text/plain")
            for octet in [2, number & 1, 0, 3, 1, 9 + number % 3, 2, 1, 1, 1, 10] as [UInt8] {
                seed.write(octet)
            }
            seeds.append(seed.octets)
        }
        for number in 0..<12 {
            var seed = ChoiceWriter()
            seed.write(0 as UInt8)
            seed.write("label")
            seed.write("text/plain")
            seed.write(UInt8(number % 3))
            for pair in 0..<(number % 3) {
                seed.write(String(repeating: "n", count: 20 * pair + number))
                seed.write("value")
            }
            for octet in [60, 1, 2, 0] as [UInt8] { seed.write(octet) }
            seed.write(rest: reads(number))
            seeds.append(seed.octets)
        }
        for number in UInt8(0)..<8 {
            // Four items, a search, one that goes, a search.
            let item: [UInt8] = [number, number, 2, 0, number, 1, 0, 3]
            seeds.append(
                [2] + item + item + [0, number, 1, 0, 0, 1, 0] + [0, number, 0, 0] + [1, 0, 0, 1, 1]
            )
        }
        return seeds
    }

    private static func reads(_ count: Int) -> [UInt8] {
        guard let group = AccessGroup("/usr/bin/app") else { return [] }
        var caller = Caller(
            uid: 1000,
            pid: 4711,
            processStart: 1,
            program: "/usr/bin/app",
            accessGroup: group,
            door: count % 2 == 0 ? .secretService : nil
        )
        caller.startedBy = "bash"
        let read = SecretRead(
            time: 1_700_000_000_000_000,
            method: .read,
            caller: caller,
            group: group.name,
            name: "mail",
            count: 1,
            references: (PersistentReference(octets: octets(16))).map { [$0] } ?? [],
            factors: []
        )
        return SecretReads(Array(repeating: read, count: count)).octets
    }
}
