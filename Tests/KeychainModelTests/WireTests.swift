import CBOR
import Foundation
import Glibc
import SecretMemory
import Testing

@testable import KeychainModel

@Suite("Wire messages")
struct WireTests {
    private let prompt = PromptFields(
        origin: PromptOrigin(terminal: "/dev/pts/4", terminalType: "xterm", display: ":1"),
        reason: "open the vault — ünïcode",
        details: PromptDetails(title: "Bank", items: ["a", "b"]),
        cancelTitle: "No",
        fallbackTitles: [],
        interactionAllowed: false,
        tellsMisses: true
    )
    private let query = ItemQuery(
        itemClass: .genericPassword,
        attributes: [
            .account: .string("me"), .generic: .data([0, 255]), .port: .integer(-3),
            .synchronizable: .boolean(true), .creationDate: .date(1_700_000_000_000_001),
        ],
        limit: .count(7),
        returns: [.data, .attributes],
        references: [],
        authenticationUI: .skip
    )

    /// Encodes a body in a complete message, and decodes it again.
    private func roundTrip<Body: WireBody & ~Copyable>(_ body: borrowing Body) throws -> Body {
        let message = try RequestHead(id: 9, method: .status).message(body)
        return try message.withOctets { octets in
            try CBORReader.read(octets, limits: Frame.limits) { reader in
                let head = try RequestHead(from: &reader)
                #expect(head == RequestHead(id: 9, method: .status))
                return try Body(from: &reader)
            }
        }
    }

    @Test("prompt fields round-trip")
    func promptFields() throws {
        #expect(try roundTrip(prompt) == prompt)
        #expect(try roundTrip(PromptFields()) == PromptFields())
        var most = prompt
        most.details.items = Array(repeating: "i", count: PromptDetails.mostItems)
        most.fallbackTitles = ["1", "2", "3", "4"]
        #expect(try roundTrip(most) == most)
    }

    @Test("too many items, too many fallbacks and a fallback without a title are refused")
    func tooManyTexts() throws {
        var items = prompt
        items.details.items = Array(repeating: "i", count: PromptDetails.mostItems + 1)
        var fallbacks = prompt
        fallbacks.fallbackTitles = Array(repeating: "f", count: PromptDetails.mostFallbacks + 1)
        var empty = prompt
        empty.fallbackTitles = ["Card", ""]
        var long = prompt
        long.details.title = String(repeating: "t", count: PromptFields.longestText + 1)
        for fields in [items, fallbacks, empty, long] {
            #expect(throws: WireError.malformed) { try roundTrip(fields) }
        }
    }

    @Test("misses round-trip, and a reason of a later version is unreadable")
    func misses() throws {
        for reason in MissedTouch.Reason.allCases {
            let miss = MissedTouch(count: 3, reason: reason)
            #expect(try roundTrip(miss) == miss)
        }
        #expect(throws: WireError.malformed) { try roundTrip(MissedTouch(count: 0, reason: .lift)) }
        let later: [UInt8] = [0x82, 1, 24, 99]
        let miss = try CBORReader.read(later.span, limits: Frame.limits) { try MissedTouch(from: &$0) }
        #expect(miss == MissedTouch(count: 1, reason: .unreadable))
    }

    @Test("the chosen fallback of a failure round-trips, and an impossible one is refused")
    func chosenFallback() throws {
        for index in [nil, 0, 3] {
            let error = KeychainError(AuthenticationError(.userFallback, fallback: index))
            #expect(try roundTrip(Failure(error)).error.authentication?.fallback == index)
        }
        let error = KeychainError(AuthenticationError(.userFallback, fallback: 4))
        #expect(throws: WireError.malformed) { try roundTrip(Failure(error)) }
    }

    @Test("changes round-trip, and empty or too many changes are refused")
    func changes() throws {
        let some = KeychainChange.Kind.allCases.map { KeychainChange($0, time: 1_700_000_000_000_000) }
        for reply in [
            ChangesReply(), ChangesReply(isIncomplete: true), ChangesReply(changes: some),
            ChangesReply(changes: Array(repeating: some[0], count: ChangesReply.mostChanges)),
        ] {
            #expect(try roundTrip(reply) == reply)
        }
        let tooMany = Array(repeating: some[0], count: ChangesReply.mostChanges + 1)
        #expect(throws: WireError.malformed) { try roundTrip(ChangesReply(changes: tooMany)) }
        for request in [WatchRequest(), WatchRequest(tellsItems: true)] {
            #expect(try roundTrip(request) == request)
        }
    }

    @Test(
        "skipped attributes are validated like those that are read",
        arguments: [
            [0xA0], [0xA1, 0x61, 0x61, 0x01], [0xA1, 0x61, 0x61, 0x81, 0x20], [0xA1, 0x61, 0x61, 0xF5],
            [0xA1, 0x61, 0x61, 0x42, 0, 1], [0xA1, 0x61, 0x61, 0x62, 0xC3, 0xA9],
            // Not a name, not a value, two numbers, a map, a number as a name, the same name twice.
            [0xA1, 0x62, 0xC3, 0xA9, 0x01], [0xA1, 0x61, 0x61, 0xF6], [0xA1, 0x61, 0x61, 0x82, 0x01, 0x01],
            [0xA1, 0x61, 0x61, 0xA0], [0xA1, 0x01, 0x01], [0xA2, 0x61, 0x61, 0x01, 0x61, 0x61, 0x01],
            [0xA1, 0x61, 0x61, 0x61, 0xFF], [0xA1, 0x78, 33] + [UInt8](repeating: 0x61, count: 33) + [0x01],
            [0xA1, 0x61, 0x61, 0x59, 0x40, 0x01] + [UInt8](repeating: 0, count: 0x4001),
        ] as [[UInt8]]
    )
    func skippedAttributes(octets: [UInt8]) {
        let read = try? CBORReader.read(octets) { try $0.readAttributes() }
        let skipped = try? CBORReader.read(octets) { try $0.skipAttributes() }
        #expect((read == nil) == (skipped == nil))
        if let skipped { #expect(skipped == octets.indices) }
    }

    @Test("a look-up round-trips")
    func copyItems() throws {
        let copy = try roundTrip(CopyItems(query: query, context: 3, prompt: prompt))
        #expect(copy.query == query)
        #expect(copy.context == 3)
        let reference = try #require(PersistentReference(octets: [UInt8](repeating: 7, count: 16)))
        var byReference = ItemQuery(itemClass: nil, limit: .all, references: [reference])
        byReference.returns = [.persistentRef]
        #expect(try roundTrip(DeleteItems(query: byReference, prompt: prompt)).query == byReference)
    }

    @Test("a new item round-trips with its secret", arguments: [nil, [], [1, 2, 3]] as [[UInt8]?])
    func addItem(secret: [UInt8]?) throws {
        let control = try AccessControl(accessibility: .whenUnlocked, flags: [.biometryAny])
        var data: SecretBytes?
        if let secret { data = SecretBytes(copying: secret.span) }
        let item = AddItem(
            itemClass: .internetPassword,
            attributes: query.attributes,
            accessControl: control,
            data: data,
            returns: [.persistentRef],
            prompt: prompt
        )
        let back = try roundTrip(item)
        let (itemClass, attributes, accessControl) = (back.itemClass, back.attributes, back.accessControl)
        #expect(itemClass == .internetPassword)
        #expect(attributes == query.attributes)
        #expect(accessControl == control)
        var octets: [UInt8]?
        switch back.data {
        case .some(let bytes): octets = bytes.withOctets { span in span.indices.map { span[$0] } }
        case .none: octets = nil
        }
        #expect(octets == secret)
    }

    @Test(
        "every error keeps its status, authentication code, cause and remedy",
        arguments: [
            KeychainError(.itemNotFound, cause: .invalidated),
            KeychainError(AuthenticationError(.biometryLockout, remedy: .usePasscode)),
            KeychainError(.authFailed, cause: .closed, remedy: .wait(seconds: 28_800)),
            KeychainError(Status(rawValue: -99_999)),
        ]
    )
    func failures(error: KeychainError) throws {
        let message = ReplyHead(id: 2, status: error.status).message(Failure(error))
        let back = try message.withOctets { octets in
            try CBORReader.read(octets, limits: Frame.limits) { reader in
                let head = try ReplyHead(from: &reader)
                return try Failure(from: &reader, status: head.status).error
            }
        }
        #expect(back == error)
        #expect(back.authentication?.code == error.authentication?.code)
        #expect(back.cause == error.cause)
        #expect(back.remedy == error.remedy)
    }

    @Test("an unknown version and an unknown method are distinguished from garbage")
    func heads() throws {
        func head(_ octets: [UInt8]) throws -> RequestHead {
            try CBORReader.read(octets.span) { reader in
                let head = try RequestHead(from: &reader)
                try reader.readNull()
                return head
            }
        }
        #expect(try head([0x84, 1, 5, 2, 0xF6]) == RequestHead(id: 5, method: .status))
        #expect(throws: WireError.version(2)) { try head([0x84, 2, 5, 2, 0xF6]) }
        #expect(throws: WireError.method(9)) { try head([0x84, 1, 5, 9, 0xF6]) }
        #expect(throws: WireError.malformed) { try head([0x83, 1, 5, 2]) }
    }
}

@Suite("Frames on a socket")
struct FrameTests {
    private struct Pair: ~Copyable {
        let near: CInt
        let far: CInt

        init() {
            var ends: [CInt] = [0, 0]
            socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
            (near, far) = (ends[0], ends[1])
        }

        deinit {
            close(near)
            close(far)
        }

        func write(_ octets: [UInt8]) {
            _ = octets.withUnsafeBytes { Glibc.write(far, $0.baseAddress, $0.count) }
        }
    }

    @Test("a frame in single bytes is one frame, and two frames at once are two")
    func pieces() throws {
        let pair = Pair()
        var receiver = FrameReceiver()
        let frame: [UInt8] = [0, 0, 0, 1, 0xF6]
        for octet in frame.dropLast() {
            pair.write([octet])
            let progress = try receiver.receive(from: pair.near)
            #expect(progress == .received)
            let none = try receiver.next() == nil
            #expect(none)
        }
        pair.write([frame[4]] + frame + [0, 0])
        let progress = try receiver.receive(from: pair.near)
        #expect(progress == .received)
        for _ in 0..<2 {
            let message = try receiver.next()
            let count = message?.count
            #expect(count == 1)
        }
        let rest = try receiver.next() == nil
        let holdsPart = receiver.holdsPart
        #expect(rest)
        #expect(holdsPart)
    }

    @Test(
        "a length of 0 or above 1 MiB is refused before memory is reserved",
        arguments: [
            [0, 0, 0, 0], [0, 0x10, 0, 1], [0x7F, 0xFF, 0xFF, 0xFF], [0xFF, 0xFF, 0xFF, 0xFF],
        ] as [[UInt8]]
    )
    func lengths(header: [UInt8]) throws {
        let pair = Pair()
        var receiver = FrameReceiver()
        pair.write(header)
        _ = try receiver.receive(from: pair.near)
        do {
            let length = try receiver.announcedLength()
            Issue.record("accepted \(length ?? 0)")
        } catch {
            guard case .frameLength = error else { throw error }
        }
    }

    @Test("a frame arrives as sent, up to the largest size", arguments: [1, 5_000, Frame.longest - 5])
    func largest(count: Int) throws {
        let pair = Pair()
        let (far, near) = (pair.far, pair.near)
        // Both ends block, so each needs its own thread.
        let sender = Thread {
            var writer = WireWriter(SecretBuffer())
            writer.write(bytes: [UInt8](repeating: 0x5A, count: count))
            let message = writer.finish()
            try? Frame.send(message, to: far)
        }
        sender.start()
        var receiver = FrameReceiver()
        var octets: Int?
        while octets == nil {
            let progress = try receiver.receive(from: near)
            try #require(progress == .received)
            if let message = try receiver.next() {
                octets = try message.read { reader in try reader.readBytes { $0.count } }
            }
        }
        #expect(octets == count)
    }

    @Test("the peer's end is reported, also within a frame")
    func closed() throws {
        let pair = Pair()
        var receiver = FrameReceiver()
        pair.write([0, 0])
        shutdown(pair.far, Int32(SHUT_WR))
        let first = try receiver.receive(from: pair.near)
        let second = try receiver.receive(from: pair.near)
        let holdsPart = receiver.holdsPart
        #expect(first == .received)
        #expect(second == .closed)
        #expect(holdsPart)
    }
}

@Suite("Layout")
struct LayoutTests {
    @Test("TOUCHSTONE_HOME moves everything below one directory")
    func home() {
        let layout = Layout { ["TOUCHSTONE_HOME": "/t/", "HOME": "/h"][$0] }
        #expect(layout?.socket == "/t/run/socket")
        #expect(layout?.dataDirectory == "/t/data")
        #expect(layout?.configurationFile == "/t/touchstoned.conf")
    }

    @Test("absolute XDG directories are used, relative ones are not, and nothing is in /tmp")
    func xdg() {
        let layout = Layout { ["HOME": "/h", "XDG_RUNTIME_DIR": "/run/user/1", "XDG_DATA_HOME": "rel"][$0] }
        #expect(layout?.socket == "/run/user/1/touchstone/socket")
        #expect(layout?.dataDirectory == "/h/.local/share/touchstone")
        let bare = Layout(variable: { ["HOME": "/h"][$0] }, userDirectory: { nil })
        #expect(bare?.runtimeDirectory == "/h/.local/share/touchstone/run")
        #expect(Layout { _ in nil } == nil)
    }

    @Test("the lock file is beside the socket in every layout")
    func lock() {
        let environments = [
            ["TOUCHSTONE_HOME": "/t"], ["HOME": "/h"], ["HOME": "/h", "XDG_RUNTIME_DIR": "/r"],
        ]
        for variables in environments {
            let layout = Layout(variable: { variables[$0] }, userDirectory: { nil })
            #expect(layout?.lockFile == layout.map { $0.runtimeDirectory + "/lock" })
        }
    }

    @Test(
        "in system mode a user's socket is in root's directory, and store and lock in the account's",
        arguments: [0, 1000, UInt32.max]
    )
    func system(user: UInt32) {
        let layout = Layout.ofSystem(uid: user)
        #expect(layout.runtimeDirectory == "/run/touchstone/\(user)")
        #expect(layout.socket == "/run/touchstone/\(user)/socket")
        #expect(layout.dataDirectory == "/var/lib/touchstone/\(user)")
        #expect(layout.lockFile == "/var/lib/touchstone/\(user)/lock")
        #expect(layout.configurationFile == "/etc/touchstone/touchstoned.conf")
        #expect(layout != .ofSystem(uid: user ^ 1))
    }
}
