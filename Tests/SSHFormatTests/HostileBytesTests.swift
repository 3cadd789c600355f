import Crypto
import SSHFormat
import Testing

/// Bytes from a fixed seed: random ones, and valid messages with random changes.
///
/// Whatever is accepted has the form's properties.
@Suite("Hostile bytes")
struct HostileBytesTests {
    /// Feeds 10,000 random inputs and as many changed ones; returns how many of them were accepted.
    @discardableResult
    private func feed(_ valid: [UInt8], seed: UInt64, _ accepts: ([UInt8]) throws -> Bool) rethrows -> Int {
        var numbers = FixedNumbers(seed: seed)
        var accepted = 0
        for _ in 0..<10_000 {
            let random = numbers.bytes(atMost: 80)
            if try accepts(random) { accepted += 1 }
            var changed = valid
            for _ in 0..<Int.random(in: 1...3, using: &numbers) {
                let place = Int.random(in: 0..<max(changed.count, 1), using: &numbers)
                switch Int.random(in: 0..<4, using: &numbers) {
                case 0: changed.insert(contentsOf: numbers.bytes(atMost: 4), at: min(place, changed.count))
                case 1: changed.removeSubrange(place..<min(changed.count, place + 2))
                case 2: changed.removeSubrange(place...)
                default:
                    if place < changed.count { changed[place] = numbers.bytes(atMost: 1).first ?? 0 }
                }
            }
            if try accepts(changed) { accepted += 1 }
        }
        return accepted
    }

    @Test("as values")
    func values() {
        let accepted = feed(written { $0.write(text: "text") }, seed: 1) { bytes in
            var reader = SSHReader(bytes)
            guard let text = try? reader.readText() else { return false }
            #expect(bytes.starts(with: written { $0.write(text: text) }))
            #expect(reader.isAtEnd == (bytes.count == 4 + text.utf8.count))
            while !reader.isAtEnd { if (try? reader.readString()) == nil { _ = try? reader.readByte() } }
            return true
        }
        #expect(accepted > 0)
    }

    @Test("as keys: an accepted blob is exactly its key's")
    func keys() throws {
        let peers = [try Peer.ed25519().key, try Peer.p256().key, try RSAPeer().key]
        for (seed, key) in peers.enumerated() {
            let accepted = feed(key.blob, seed: UInt64(seed)) { bytes in
                guard let parsed = try? SSHPublicKey(blob: bytes) else { return false }
                #expect(parsed.blob == bytes)
                return true
            }
            #expect(accepted > 0)
        }
    }

    @Test("as signatures: no other is valid")
    func signatures() throws {
        let message: [UInt8] = [1, 2, 3]
        for (seed, peer) in [try Peer.ed25519(), try Peer.p256()].enumerated() {
            let valid = try peer.sign(message)
            #expect(peer.key.isValid(signature: valid, over: message))
            feed(valid, seed: UInt64(seed)) { bytes in
                #expect(peer.key.isValid(signature: bytes, over: message) == (bytes == valid))
                return true
            }
        }
        let peer = try RSAPeer()
        let valid = signature("rsa-sha2-256", try peer.sign(SHA256.hash(data: message)))
        feed(valid, seed: 2) { bytes in
            #expect(peer.key.isValid(signature: bytes, over: message) == (bytes == valid))
            return true
        }
    }

    @Test("as requests to an agent: the first byte decides")
    func requests() throws {
        let key = try Peer.ed25519().key
        let bind = written {
            $0.write(byte: 27)
            $0.write(text: "session-bind@openssh.com")
            $0.write(string: key.blob)
            $0.write(string: [1, 2, 3])
            $0.write(string: [4])
            $0.write(bool: true)
        }
        let accepted = feed(bind, seed: 3) { bytes in
            guard let request = try? AgentRequest(bytes) else { return false }
            switch request {
            case .identities: #expect(bytes == [11])
            case .sign(let key, let data, let flags):
                #expect(
                    bytes
                        == written {
                            $0.write(byte: 13)
                            $0.write(string: key)
                            $0.write(string: data)
                            $0.write(uint32: flags)
                        }
                )
            case .bindSession, .query, .otherExtension: #expect(bytes.first == 27)
            case .unsupported(let type): #expect(bytes.first == type && ![11, 13, 27].contains(type))
            }
            return true
        }
        #expect(accepted > 0)
    }

    @Test("as data to sign: a login has the key in it")
    func signedData() throws {
        let key = try Peer.p256().key
        let login = written {
            $0.write(string: [1, 2, 3])
            $0.write(byte: 50)
            $0.write(text: "person")
            $0.write(text: "ssh-connection")
            $0.write(text: "publickey")
            $0.write(bool: true)
            $0.write(text: key.algorithm)
            $0.write(string: key.blob)
        }
        let accepted = feed(login, seed: 4) { bytes in
            guard let data = try? SignedData(bytes, by: key) else { return false }
            guard case .login(let request) = data else {
                #expect(bytes.starts(with: Array("SSHSIG".utf8)))
                return true
            }
            #expect(bytes.suffix(key.blob.count).elementsEqual(key.blob))
            #expect(bytes.starts(with: written { $0.write(string: request.sessionID) }))
            return true
        }
        #expect(accepted > 0)
    }

    @Test("as lines: an accepted one has the key's base64")
    func lines() throws {
        let line = try Peer.ed25519().key.line(comment: "")
        let accepted = feed(Array("host \(line)".utf8), seed: 5) { bytes in
            let text = String(decoding: bytes, as: UTF8.self)
            if let key = SSHPublicKey(line: text) { #expect(text.contains(key.algorithm)) }
            let keys = KnownHosts(text).keys(of: "host")
            for key in keys {
                let names = KnownHosts(text).names(of: key, candidates: [])
                #expect(names.contains { $0.lowercased() == "host" })
            }
            return !keys.isEmpty
        }
        #expect(accepted > 0)
    }
}
