import ImportedPasswords
import Testing

@Suite("Imported password hashes")
struct PublishedHashTests {
    /// A password and its hash.
    struct Vector: Sendable, CustomTestStringConvertible {
        let password: String
        let hash: String
        var testDescription: String { hash }

        init(_ password: String, _ hash: String) { (self.password, self.hash) = (password, hash) }
    }

    /// The self-test of crypt_blowfish 1.3 (wrapper.c), and its first vector with the later names of the algorithm.
    private static let bcrypt = [
        Vector("U*U", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
        Vector("U*U*U", "$2a$05$XXXXXXXXXXXXXXXXXXXXXOAcXxm9kjPGEMsLznoKqmqw7tc8WCx4a"),
        Vector("", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.7uG0VCzI2bS7j6ymqJi9CdcdxiRTWNy"),
        Vector("U*U", "$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
        Vector("U*U", "$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"),
        Vector(
            "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789chars after 72 are ignored",
            "$2a$05$abcdefghijklmnopqrstuu5s2v8.iXieOjg/.AySBTTZIIVFJeBui"
        ),
    ]

    /// The test of argon2's reference implementation (src/test.c), one of the first version too.
    private static let argon2 = [
        Vector(
            "password",
            "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"
        ),
        Vector(
            "password",
            "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc"
        ),
        Vector(
            "password",
            "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
        ),
        Vector(
            "password",
            "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8"
        ),
        Vector(
            "password",
            "$argon2i$v=19$m=256,t=2,p=2$c29tZXNhbHQ$T/XOJ2mh1/TIpJHfCdQan76Q5esCFVoT5MAeIM1Oq2E"
        ),
        Vector("password", "$argon2i$m=256,t=2,p=1$c29tZXNhbHQ$/U3YPXYsSb3q9XxHvc0MLxur+GP960kN9j7emXX8zwY"),
        Vector(
            "password",
            "$argon2i$v=16$m=256,t=2,p=1$c29tZXNhbHQ$/U3YPXYsSb3q9XxHvc0MLxur+GP960kN9j7emXX8zwY"
        ),
    ]

    /// The second and third vector of RFC 7914, section 12, cut to 32 bytes, in the form in which passlib writes them; the
    /// third one in the form of crypt(5), which is in the tests of yescrypt.
    private static let scrypt = [
        Vector("password", "$scrypt$ln=10,r=8,p=16$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI"),
        Vector(
            "pleaseletmein",
            "$scrypt$ln=14,r=8,p=1$U29kaXVtQ2hsb3JpZGU$cCO9yzr9c0hGHAbNgf046/2o+7qQT44+qbVD9lRdofI"
        ),
        Vector("pleaseletmein", "$7$C6..../....SodiumChloride$kBGj9fHznVYFQMEn/qDCfrDevf9YDtcDdKvEqHJLV8D"),
    ]

    /// What Debian 12's crypt(3) makes of a password with its default cost; perl -e 'print crypt(...)'.
    private static let yescrypt = [
        Vector("password", "$y$j9T$LdJMENpBABJJ3hIHjB1Bi.$u2OTvjfFNnWXgGAOFvgB1vH5NgjtzZuf1aX1t4YvTE.")
    ]

    static let all = bcrypt + argon2 + scrypt + yescrypt

    @Test("the password of a published hash matches, another one does not", arguments: all)
    func published(_ vector: Vector) throws {
        let hash = try ImportedPassword(vector.hash)
        #expect(hash.text == vector.hash)
        #expect(try hash.matches(vector.password))
        // HMAC, by which scrypt begins, pads its key with zeros: there, U+0000 at the end counts for nothing.
        let zeros = vector.hash.hasPrefix("$scrypt$") ? [] : [vector.password + "\0", "\0"]
        for wrong in ["x" + vector.password, vector.password.uppercased() + "u"] + zeros
        where !vector.password.hasSuffix("ignored") || wrong.hasPrefix("x") {
            #expect(try !hash.matches(wrong), "\(wrong)")
        }
    }

    @Test("a hash with any part changed matches nothing or is refused", arguments: all)
    func changed(_ vector: Vector) throws {
        let bytes = Array(vector.hash.utf8)
        // The last character of a group of 6 bits has bits that count for nothing in some of the forms.
        for place in [bytes.count - 20, bytes.count - 40] {
            var other = bytes
            other[place] = other[place] == UInt8(ascii: "a") ? UInt8(ascii: "b") : UInt8(ascii: "a")
            let text = String(decoding: other, as: UTF8.self)
            guard let hash = try? ImportedPassword(text) else { continue }
            #expect(try !hash.matches(vector.password), "\(text)")
        }
    }

    @Test("a password matches in the form that is typed and in normal form C")
    func forms() throws {
        // perl -MEncode -e 'print crypt(encode("UTF-8", "caf\x{e9}"), "\$2b\$04\$CCCCCCCCCCCCCCCCCCCCC.")'
        let hash = try ImportedPassword("$2b$04$CCCCCCCCCCCCCCCCCCCCC.W809GEA3PzU9zSZ2tv/PnJgqYkxCw3u")
        #expect(try hash.matches("caf\u{E9}"))
        #expect(try hash.matches("cafe\u{301}"))
        #expect(try !hash.matches("cafe"))
        // "cafe\x{301}"
        let decomposed = try ImportedPassword("$2b$04$CCCCCCCCCCCCCCCCCCCCC.f27mR4PZ/pNhGb.N1ZocikVm.mZMolC")
        #expect(try decomposed.matches("cafe\u{301}"))
        #expect(try !decomposed.matches("caf\u{E9}"))
    }

    @Test(
        "a password that crypt(3) cannot read whole does not match, and is no error",
        arguments: [511, 512, 600]
    )
    func long(_ count: Int) throws {
        let hash = try ImportedPassword(Self.bcrypt[0].hash)
        #expect(try !hash.matches(String(repeating: "x", count: count)))
        #expect(try !hash.matches("U*U\0" + String(repeating: "x", count: count)))
    }

    @Test(
        "other forms are refused by their name, without their text",
        arguments: [
            "", "$", "$$", "password", "$1$salt$hash", "$6$salt$hash", "$5$salt$hash", "$2x$05$a", "$2$05$a",
            "$argon2d$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$gy$j9T$a$b",
            "{SSHA}aaaa", "\u{1B}[2J", "pbkdf2_sha256$1000$salt$hash",
        ]
    )
    func unknown(_ text: String) {
        let refusal = #expect(throws: ImportedPassword.Refusal.self) { try ImportedPassword(text) }
        #expect(refusal?.description.contains("none of the forms") == true, "\(refusal as Any)")
    }

    private static let code = "E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW"
    private static let argonEnd = "$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4"

    @Test(
        "a malformed hash is refused",
        arguments: [
            "$2a$05$CCCCCCCCCCCCCCCCCCCCC.\(code.dropLast())", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.\(code)x",
            "$2a$5$CCCCCCCCCCCCCCCCCCCCC.\(code)", "$2a$+5$CCCCCCCCCCCCCCCCCCCCC.\(code)",
            "$2a$03$CCCCCCCCCCCCCCCCCCCCC.\(code)", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.\(code)$",
            "$2a$05$CCCCCCCCCCCCCCCCCCCCC!\(code)", "$2a$05$", "$2a$05$CCCCCCCCCCCCCCCCCCCCC.\(code)\n",
            "$argon2id$v=18$m=256,t=2,p=1\(argonEnd)", "$argon2id$v=19$m=256,t=2\(argonEnd)",
            "$argon2id$v=19$t=2,m=256,p=1\(argonEnd)", "$argon2id$v=19$m=256,t=2,p=1,keyid=a\(argonEnd)",
            "$argon2id$v=19$m=-256,t=2,p=1\(argonEnd)", "$argon2id$v=19$m=256,t=2,p=1\(argonEnd)$",
            "$argon2id$v=19$m=256,t=2,p=1$c2FsdA$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
            "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOg", "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$",
            "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ=\(argonEnd.dropFirst(12))", "$argon2id$",
            "$scrypt$ln=10,r=8,p=16$$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "$scrypt$ln=10,r=8$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI", "$scrypt$",
            "$7$C6..../....SodiumChloride$kBGj9fHznVYFQMEn/qDCfrDevf9YDtcDdKvEqHJLV8",
            "$7$C......../....$kBGj9fHznVYFQMEn/qDCfrDevf9YDtcDdKvEqHJLV8D", "$7$",
            "$y$j9$LdJMENpBABJJ3hIHjB1Bi.$u2OTvjfFNnWXgGAOFvgB1vH5NgjtzZuf1aX1t4YvTE.",
            "$y$j9T$LdJMENpBABJJ3hIHjB1Bi.$u2OTvjfFNnWXgGAOFvgB1vH5NgjtzZuf1aX1t4YvTE", "$y$j9T$",
        ]
    )
    func malformed(_ text: String) {
        let refusal = #expect(throws: ImportedPassword.Refusal.self) { try ImportedPassword(text) }
        #expect(refusal?.description.contains("none of the forms") == false)
    }

    @Test(
        "a hash whose verification costs too much is refused before any work",
        arguments: [
            "$2b$16$CCCCCCCCCCCCCCCCCCCCC.\(code)", "$2b$31$CCCCCCCCCCCCCCCCCCCCC.\(code)",
            "$2b$99$CCCCCCCCCCCCCCCCCCCCC.\(code)",
            "$argon2id$v=19$m=262145,t=1,p=1\(argonEnd)", "$argon2id$v=19$m=262144,t=9,p=1\(argonEnd)",
            "$argon2id$v=19$m=256,t=8193,p=1\(argonEnd)", "$argon2id$v=19$m=256,t=2,p=17\(argonEnd)",
            "$argon2id$v=19$m=9999999999,t=9999999999,p=9999999999\(argonEnd)",
            "$argon2id$v=19$m=256,t=0,p=1\(argonEnd)", "$argon2id$v=19$m=7,t=1,p=1\(argonEnd)",
            "$scrypt$ln=18,r=8,p=5$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "$scrypt$ln=19,r=8,p=1$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "$7$I6..../....SodiumChloride$kBGj9fHznVYFQMEn/qDCfrDevf9YDtcDdKvEqHJLV8D",
            "$7$Czzzzz/....SodiumChloride$kBGj9fHznVYFQMEn/qDCfrDevf9YDtcDdKvEqHJLV8D",
            "$7$C6....zzzzzSodiumChloride$kBGj9fHznVYFQMEn/qDCfrDevf9YDtcDdKvEqHJLV8D",
            "$y$jET$LdJMENpBABJJ3hIHjB1Bi.$u2OTvjfFNnWXgGAOFvgB1vH5NgjtzZuf1aX1t4YvTE.",
            "$y$jTT$LdJMENpBABJJ3hIHjB1Bi.$u2OTvjfFNnWXgGAOFvgB1vH5NgjtzZuf1aX1t4YvTE.",
        ]
    )
    func costly(_ text: String) {
        let refusal = #expect(throws: ImportedPassword.Refusal.self) { try ImportedPassword(text) }
        let description = refusal?.description ?? ""
        #expect(["cost", "within 256 MiB"].contains { description.contains($0) }, "\(description)")
    }

    @Test("the greatest accepted costs are accepted")
    func limits() throws {
        for text in [
            "$2b$15$CCCCCCCCCCCCCCCCCCCCC.\(Self.code)", "$argon2id$v=19$m=262144,t=8,p=16\(Self.argonEnd)",
            "$scrypt$ln=18,r=8,p=4$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            // OWASP's, and Debian's default.
            "$scrypt$ln=17,r=8,p=1$TmFDbA$/bq+HJ00cgB4VucZDQHp/nxq18vII3gw53N2Y0s3MWI",
            "$y$jDT$LdJMENpBABJJ3hIHjB1Bi.$u2OTvjfFNnWXgGAOFvgB1vH5NgjtzZuf1aX1t4YvTE.",
        ] { #expect(throws: Never.self, "\(text)") { try ImportedPassword(text) } }
    }
}
