import Crypto
import Foundation
import Security
import Testing

/// Ciphertexts of their own names made by Apple's `SecKeyCreateEncryptedData`, with the private keys.
///
/// From the tests of <https://github.com/jedda/ecies>, revision 1d15570, MIT licence, Jedda Wignall.
@Suite("ECIES ciphertexts from Apple's systems")
struct AppleCiphertextTests {
    private struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let size: Int
        let algorithm: SecKeyAlgorithm
        /// SEC 1, base64.
        let key: String
        /// Base64.
        let ciphertext: String
        var testDescription: String { name }
    }

    @Test("a ciphertext from Apple's systems can be decrypted", arguments: cases)
    private func opens(ciphertext: Case) throws {
        let der = try #require(Data(base64Encoded: ciphertext.key))
        let octets =
            switch ciphertext.size {
            case 256: try P256.Signing.PrivateKey(derRepresentation: der).x963Representation
            case 384: try P384.Signing.PrivateKey(derRepresentation: der).x963Representation
            default: try P521.Signing.PrivateKey(derRepresentation: der).x963Representation
            }
        let key = try KeyMaker.read(octets, kSecAttrKeyTypeEC)
        let sealed = try #require(Data(base64Encoded: ciphertext.ciphertext))
        let plaintext = SecKeyCreateDecryptedData(key, ciphertext.algorithm, sealed as CFData, nil)
        #expect(plaintext as Data? == Data(ciphertext.name.utf8))
    }

    private static let cases = [
        Case(
            name: "P256-SHA256-VIV",
            size: 256,
            algorithm: .eciesEncryptionCofactorVariableIVX963SHA256AESGCM,
            key: "MHcCAQEEIHGhxnpu3kG/nW5ozDZJ+TTFQvL6MynCcQWD6jHV4p0UoAoGCCqGSM49AwEHoUQDQgAEzgFY"
                + "w3Rqc72IIYHV7JH6M245n/nLnxyre1A7sc5nOt31ZyfJQLXGs4dY0cggne28ueXHID5lKz1JNChY49NH"
                + "Yg==",
            ciphertext: "BI6sBCGyf916GQSV3DHOvmFxOmzbV9pq08wcOdKaepP2/Qtepj9M71dYkzXf6OqIstDyyVIxfnAMfUpx"
                + "ZzoCHDbalYRzzwhqHwg7K6RNl1F29PVdLNtJH498yJSfloW/"
        ),
        Case(
            name: "P384-SHA384-VIV",
            size: 384,
            algorithm: .eciesEncryptionCofactorVariableIVX963SHA384AESGCM,
            key: "MIGkAgEBBDC5Lt6wBRiiEC2O71i3lv8Jtgg+YP4Y3gCj7B7nOtdQO/5PQPRjpFPJ3ft0yjbzHEagBwYF"
                + "K4EEACKhZANiAAToVnztZKN1KVhot+MoN3CiPDZ0PoCDXrdP1uHQ61nz4XVrNdxgxyNUJC6cd0gsbujm"
                + "e66wxrq28zqWYBKvrFtIlS4W+NkuyCi5nABkHno7alAWv/fD7aQ8A3ZmWZohsaU=",
            ciphertext: "BM45TREbxELfwpTVBmltz+sB3vhkM85m/yiAsE8JSNmXVOeeUGzmxP5Z2jegApPxtOS8ilfhTN/m2XkO"
                + "oJWGw3MKuekq5V5PcdvAi5xKcoOEynkS7uAKS3nhBH/+g+9/iNoTcRSrEpbgm8dOCGe+VRQ7hK8vI0ZR"
                + "w74kernlNDw="
        ),
        Case(
            name: "P384-SHA384-0IV",
            size: 384,
            algorithm: .eciesEncryptionCofactorX963SHA384AESGCM,
            key: "MIGkAgEBBDCveSReIMZa6hbWVgmESfu/jMpEqIldBHcx4nQ46zxJ+hvm4lnesKrn0P0BkFYZ0jSgBwYF"
                + "K4EEACKhZANiAAT0ctzSPeNUinYOJdYtCafXAsTKHLGY4WPPRM8pYL5x1UrvnPN0G1yiF4QsTX2Pgyvh"
                + "2qositdwRGxv3ruo1yR8TcztRXugZF4a5xmcZuQW8hcEmPuk+xS5XXUMzryiEQc=",
            ciphertext: "BERkPl0YZUa9r7JV4W6n/rxsGBpzwdCpIgRaOKxRYuLHx3v5hGnTM1oGOEZzJQnpfvtperUyFfnPB5GP"
                + "5ioxK4YkrqfjIlF0ip18v30o7TWReJ+MrKYWcC7/TGe/SxPagi/zX9uz4N0Jzp3GFarI5LUQ9mJNIna/"
                + "3ajuBC9Du94="
        ),
        Case(
            name: "P521-SHA512-0IV",
            size: 521,
            algorithm: .eciesEncryptionCofactorX963SHA512AESGCM,
            key: "MIHcAgEBBEIAqKpwdZ9JdC3JdVpM7gj1Bgkep3LNTkYWqEYqwNe5w7oyzDh1yU0LVZzefyZNdaagU6DG"
                + "NdZ+5u9cHqnh9GrQ5gWgBwYFK4EEACOhgYkDgYYABAD+MDxfbvbe9ZRZcZgWyDBbpf3JxHii0iScjxNq"
                + "NWClJWlehHfX8niGE6VNktRQ3lMIwDSvUy3Esiex3gu8RHZnwAGzPjwLm1/w2YbOfp2TCNTL8m6eYUfL"
                + "U0SNW7B61koL+Sk50yTHoseP7+lmM2t8x6uKsyLdo+XCIevpW8IEh0s5wg==",
            ciphertext: "BABqJoMa89aD0rRkZ+WrmWTeqUfcr3uvLmyk7KlbWPm45m0ptDeqsaxFtqeM0VR6IoBMQcvcCcW+hzlL"
                + "Pr7i15LJlADzKYe7al7Vp10fJBnnhM2K7Z12o/VtOynEEt+ed5IkP9BiopN/3swl79caHQqXxX+SWQij"
                + "wosMh0rGFJZPjsPFcPpe8Aj9CiJ3y0hRH1D4fp+qtpx9LOBLyuXvRwdFi0Y="
        ),
        Case(
            name: "P521-SHA512-VIV",
            size: 521,
            algorithm: .eciesEncryptionCofactorVariableIVX963SHA512AESGCM,
            key: "MIHcAgEBBEIAg0dkiDMo6frSBz50hC2luT3T0oMv/nPnu4nUR+x9PWuGic4cBHkrlrUOwyTBfGmug8fY"
                + "xNy2ytJhBEyCGookSK+gBwYFK4EEACOhgYkDgYYABACAYs51q+pIrE2k92p2ltjs0iBHTe8Kj+w1+x5h"
                + "fmXS1tX0aR+kabb5qe6Q83Bsvq/dmj3R59XWmIaTz6tJprSr2gDqS2i9wpWspmDND2dYvhKECXj099CQ"
                + "t19V94qYyUjbXMEDkpvq5ZWQ2DBOnR3XnuwWOYj+Pskg0lseKkok4CtJ4A==",
            ciphertext: "BABIki+hjR7WmHUZz03yTelbH+eEwn0Dtpv8Fxwh7cyaue2ZceAytjlbQD2YA3FHC2Z0NMlk/B0C2Es8"
                + "dZmPE9keEgBsUW0PjT4CyefgFIc2YEm5yDpcbJEKhj6FlGnOir1nJz8ZMTMdiY6vIrRCBLo6+Ek7iSfQ"
                + "IOGrdER3ESnE/gOdWsd4O3VmDQrwLboTIjKfngmBGlC5sdYUzSbQlsX2UUs="
        ),
    ]
}
