import SecretMemory
import Testing

@testable import TPMDriver

extension TPM {
    /// An attack by the TPM's owner: recreates the index with another PIN.
    func forgeIndex(of blob: [UInt8], pin: borrowing SecretBytes) throws {
        let blob = try TPMBlob(blob, .keybag)
        let index = try #require(blob.definition)
        let value = AuthorizationValue.derive(.pin, from: pin)
        try withConnection { connection throws(TPMError) in
            try connection.undefine(index, named: [index.name])
            try connection.define(index, authorization: value)
            try connection.limitAttempts(of: index, blob.label)
        }
    }

    /// Recreates an epoch's counter at its old index, incremented once.
    func remakeCounter(of blob: [UInt8]) throws {
        let index = try #require(try TPMBlob(blob, .epoch).definition)
        try withConnection { connection throws(TPMError) in
            try? connection.undefine(index, named: [index.name])
            try connection.define(index, authorization: SecretBytes(copying: []))
            guard let handle = connection.indices[index.handle] else { throw .missingIndex }
            try connection.increment(handle)
        }
    }

    /// Tries to rewrite count and limit.
    func rewriteIndex(of blob: [UInt8]) throws {
        let blob = try TPMBlob(blob, .keybag)
        let index = try #require(blob.definition)
        try withConnection { connection throws(TPMError) in
            _ = try connection.handle(of: index)
            try connection.limitAttempts(of: index, blob.label)
        }
    }

    /// Opens an epoch's secret with a session that does not encrypt the response.
    func openUnencrypted(_ octets: [UInt8]) throws -> [UInt8] {
        let blob = try TPMBlob(octets, .epoch)
        let index = try #require(blob.definition)
        let (object, value) = (try #require(blob.object), try #require(blob.value))
        return try withConnection { connection throws(TPMError) in
            let counter = try connection.handle(of: index)
            return try connection.withPolicySession { policy throws(TPMError) in
                try connection.policy(policy, counter, equals: value)
                return try connection.withLoaded(object) { object throws(TPMError) in
                    try connection.setUse(of: policy)
                    return try connection.unseal(object, policy).octets
                }
            }
        }
    }
}
