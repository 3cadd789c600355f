import Testing
import WebAuthnModel

@Suite("Strict JSON parsing")
struct JSONReaderTests {
    private func code(_ text: String) -> JSONError.Code? {
        do throws(JSONError) {
            _ = try JSONValue(parsing: Array(text.utf8))
            return nil
        } catch {
            return error.code
        }
    }

    @Test("everything in the grammar is parsed")
    func accepted() throws {
        let value = try JSONValue(
            parsing: Array(
                #" {"a":[1,-2,0.5,1e3,true,false,null,"x"],"b":{},"c":"\u00e9\ud83d\ude00\n\/\"\\"} "#.utf8
            )
        )
        let object = try #require(value.object)
        #expect(
            object["a"]?.array == [
                .integer(1), .integer(-2), .number(0.5), .number(1000), .bool(true), .bool(false), .null,
                .string("x"),
            ]
        )
        #expect(object["b"]?.object?.members.isEmpty == true)
        #expect(object["c"]?.string == "é😀\n/\"\\")
        #expect(object["d"] == nil)
    }

    @Test(
        "everything outside the grammar is refused",
        arguments: [
            ("", JSONError.Code.unexpectedEnd), ("{", .unexpectedEnd), ("[1,]", .unexpectedCharacter),
            ("{\"a\":1,}", .unexpectedCharacter), ("{a:1}", .unexpectedCharacter),
            ("'a'", .unexpectedCharacter),
            ("01", .invalidNumber), ("1.", .unexpectedEnd), (".5", .unexpectedCharacter),
            ("-", .unexpectedEnd), ("+1", .unexpectedCharacter), ("1e400", .invalidNumber),
            ("NaN", .unexpectedCharacter), ("nul", .unexpectedEnd), ("nulx", .unexpectedCharacter),
            ("\"\u{1}\"", .unexpectedCharacter), ("\"a", .unexpectedEnd), (#""\x""#, .unexpectedCharacter),
            (#""\ud83d""#, .invalidText), (#""\udc00""#, .invalidText), (#""\ud83dA""#, .invalidText),
            ("{} {}", .trailingBytes), ("[] x", .trailingBytes), (#"{"a":1,"a":2}"#, .duplicateName),
            (#"{"a":1,"\u0061":2}"#, .duplicateName), ("[[[[[[[[[]]]]]]]]]", .tooDeep),
        ]
    )
    func refused(_ text: String, _ expected: JSONError.Code) {
        #expect(code(text) == expected)
    }

    @Test("invalid UTF-8 is refused")
    func invalidUTF8() {
        let error = #expect(throws: JSONError.self) { _ = try JSONValue(parsing: [0x22, 0xC3, 0x28, 0x22]) }
        #expect(error?.code == .invalidText)
    }

    @Test("a duplicate name is found among many, too")
    func manyNames() {
        let names = (0..<1000).map { "\"n\($0)\":0" }
        #expect(code("{\(names.joined(separator: ","))}") == nil)
        #expect(code("{\(names.joined(separator: ",")),\"n999\":1}") == .duplicateName)
    }

    @Test("a hundred thousand brackets are refused at the eighth")
    func bomb() {
        #expect(code(String(repeating: "[", count: 100_000)) == .tooDeep)
    }
}

@Suite("Base64url")
struct Base64URLTests {
    @Test("RFC 4648's examples decode, without padding")
    func published() {
        let examples = [
            "": "", "f": "Zg", "fo": "Zm8", "foo": "Zm9v", "foob": "Zm9vYg", "fooba": "Zm9vYmE",
            "foobar": "Zm9vYmFy",
        ]
        for (text, encoded) in examples {
            #expect(Base64URL.encode(Array(text.utf8)) == encoded)
            #expect(Base64URL.decode(encoded) == Array(text.utf8))
        }
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
    }

    @Test("padding, other alphabets, impossible lengths and nonzero unused bits are refused")
    func refused() {
        for text in ["Zg==", "+_8", "/_8", "A", "AAAAA", "Zh", "Zm9=", " Zg", "Zg\n"] {
            #expect(Base64URL.decode(text) == nil, "\(text)")
        }
    }
}
