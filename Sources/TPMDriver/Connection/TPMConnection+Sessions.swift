import CTSS2

/// Which of a command's parameters travel encrypted; the command must have them as its first ones.
struct ParameterEncryption: OptionSet {
    let rawValue: TPMA_SESSION
    /// The first parameter of the command.
    static let command = ParameterEncryption(rawValue: kTPMA_SESSION_DECRYPT)
    /// The first parameter of the answer.
    static let answer = ParameterEncryption(rawValue: kTPMA_SESSION_ENCRYPT)
}

extension TPMConnection {
    /// The HMAC session that stays loaded, set to encrypt these parameters (AES-128-CFB) in the next command.
    ///
    /// Its key comes from a salt encrypted to the primary: nobody on the bus knows it.
    func session(_ encryption: ParameterEncryption = []) throws(TPMError) -> ESYS_TR {
        try set(hmacSession, kTPMA_SESSION_CONTINUESESSION | encryption.rawValue)
        return hmacSession
    }

    /// Makes the next command of a policy session its last one: the chip flushes the session when it succeeds.
    func setLastUse(of session: ESYS_TR, _ encryption: ParameterEncryption = []) throws(TPMError) {
        try set(session, encryption.rawValue)
    }

    /// Lends a salted policy session to `body`, which ends with a command after ``setLastUse(of:_:)``.
    ///
    /// Should it throw, the session is flushed.
    func withPolicySession<R: ~Copyable>(
        _ body: (ESYS_TR) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        let session = try startSession(kTPM2_SE_POLICY)
        var isSpent = false
        defer { if !isSpent { flush(session) } }
        let result = try body(session)
        isSpent = true
        // The chip flushed it; the library still remembers it.
        var forgotten = session
        try? local { unsafe Esys_TR_Close($0.pointer, &forgotten) }
        return result
    }

    /// Starts a session whose key comes from a salt encrypted to the primary.
    func startSession(_ type: TPM2_SE) throws(TPMError) -> ESYS_TR {
        var symmetric = TPMT_SYM_DEF()
        symmetric.algorithm = kTPM2_ALG_AES
        unsafe symmetric.keyBits.aes = 128
        unsafe symmetric.mode.aes = kTPM2_ALG_CFB
        var session = ESYS_TR_NONE
        try send {
            unsafe Esys_StartAuthSession(
                $0.pointer,
                primary,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                ESYS_TR_NONE,
                nil,
                type,
                &symmetric,
                kTPM2_ALG_SHA256,
                &session
            )
        }
        return session
    }

    private func set(_ session: ESYS_TR, _ attributes: TPMA_SESSION) throws(TPMError) {
        try local { unsafe Esys_TRSess_SetAttributes($0.pointer, session, attributes, 0xFF) }
    }
}
