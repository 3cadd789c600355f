import Testing
import WebAuthnModel

@Suite("JSON serialisation")
struct JSONTextTests {
    @Test(
        "any value parses back to itself",
        arguments: [
            JSONValue.null, true, 0, .integer(.min), .integer(.max), .number(-0.25), .number(1e300), "",
            "a\"b\\c/d",
            "\u{0}\u{1F}\u{7F}\u{2028}é🙂", [], [:], ["a": [1, "b", ["c": .null]], "": false],
        ]
    )
    func roundTrip(value: JSONValue) throws {
        #expect(try JSONValue(parsing: value.json) == value)
    }

    @Test("the text has no whitespace, and only the necessary escapes")
    func text() {
        let value: JSONValue = ["b": [1, true], "a": "x\n\"\\"]
        #expect(String(decoding: value.json, as: UTF8.self) == #"{"b":[1,true],"a":"x\u000a\"\\"}"#)
    }
}
