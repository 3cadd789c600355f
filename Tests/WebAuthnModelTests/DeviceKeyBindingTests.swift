import Testing
import WebAuthnModel

@Suite("What the attestation of a key is bound to")
struct DeviceKeyBindingTests {
    /// The bytes were made by Python: label, zero, and each part after `struct.pack(">H", len(part))`.
    @Test("the message is that of the published form")
    func vector() {
        let binding = DeviceKeyBinding(challenge: [0, 1, 2, 3], purpose: "Signing", name: "p\u{E4}y")
        let hexadecimal = binding.message.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        #expect(
            hexadecimal == """
                746f75636873746f6e6520646576696365206b657920310000040001020300075369676e696e67000470c3a479
                """
        )
    }

    @Test("no two bindings have the same message")
    func distinct() {
        let messages = Set(
            [
                DeviceKeyBinding(challenge: [1], purpose: "a", name: "bc"),
                DeviceKeyBinding(challenge: [1], purpose: "ab", name: "c"),
                DeviceKeyBinding(challenge: [1, 0, 1], purpose: "", name: "abc"),
                DeviceKeyBinding(challenge: [], purpose: "a", name: "bc"),
            ].map(\.message)
        )
        #expect(messages.count == 4)
    }
}
