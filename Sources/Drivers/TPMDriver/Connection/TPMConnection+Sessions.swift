import CTSS2

/// Which parameters of a command are encrypted; only its first one and the response's first one can be.
struct ParameterEncryption: OptionSet {
    let rawValue: TPMA_SESSION
    /// The first parameter of the command.
    static let command = ParameterEncryption(rawValue: kTPMA_SESSION_DECRYPT)
    /// The first parameter of the response.
    static let answer = ParameterEncryption(rawValue: kTPMA_SESSION_ENCRYPT)
}

extension TPMConnection {
    /// The HMAC session, loaded on first use, set to encrypt these parameters (AES-128-CFB) in the next command.
    ///
    /// Its key is derived from a salt encrypted to the primary: no eavesdropper on the bus can know it.
    func session(_ encryption: ParameterEncryption = []) throws(TPMError) -> ESYS_TR {
        if hmacSession == ESYS_TR_NONE { hmacSession = try startSession(kTPM2_SE_HMAC) }
        try set(hmacSession, kTPMA_SESSION_CONTINUESESSION | encryption.rawValue)
        return hmacSession
    }

    /// Lends the policy session to `body`, which ends with the one command that the policy authorises.
    ///
    /// The session is loaded on first use, salted too, and its policy is empty. The final command resets the policy,
    /// and the session serves the next one. Once a policy needed an authorisation value, the library includes the
    /// value of the used object in every later policy: where a policy does not need one, none may be set. If `body`
    /// throws, the policy is reset here: its steps so far authorise nothing afterwards.
    func withPolicySession<R: ~Copyable>(
        _ body: (ESYS_TR) throws(TPMError) -> R
    ) throws(TPMError) -> R {
        if policySession == ESYS_TR_NONE { policySession = try startSession(kTPM2_SE_POLICY) }
        do throws(TPMError) {
            return try body(policySession)
        } catch {
            restartPolicy()
            throw error
        }
    }

    /// Sends a step of the session's policy; the session is the last of the command's `count` handles.
    ///
    /// A chip that lost the session, for example at power-off, reports an unknown handle (Part 3, 5.4), which
    /// elsewhere means a missing index.
    func sendStep(handles count: UInt32, _ command: (ESYSContext) -> TSS2_RC) throws(TPMError) {
        do throws(TPMError) {
            try send(command)
        } catch {
            guard error.isUnknownHandle(number: count) else { throw error }
            throw .response(ResponseCode(rawValue: ResponseCode.staleReferences.lowerBound + count - 1))
        }
    }

    /// Encrypts these parameters of the policy session's next command, and keeps the session loaded after it.
    func setUse(of policy: ESYS_TR, _ encryption: ParameterEncryption = []) throws(TPMError) {
        try set(policy, kTPMA_SESSION_CONTINUESESSION | encryption.rawValue)
    }

    /// Whether the chip refuses one of the sessions although it authorises nothing: then its nonces and the library's differ,
    /// because a command was executed whose response the library did not accept.
    func isOutOfStep() -> Bool {
        for session in [hmacSession, policySession] where session != ESYS_TR_NONE {
            do throws(TPMError) {
                try set(session, kTPMA_SESSION_CONTINUESESSION | ParameterEncryption.answer.rawValue)
                var octets: UnsafeMutablePointer<TPM2B_DIGEST>?
                try send {
                    unsafe Esys_GetRandom($0.pointer, session, ESYS_TR_NONE, ESYS_TR_NONE, 1, &octets)
                }
                unsafe Esys_Free(octets)
            } catch {
                if error.isRefusal || error.isLostConnection { return true }
            }
        }
        return false
    }

    private func restartPolicy() {
        do throws(TPMError) {
            try send {
                unsafe Esys_PolicyRestart(
                    $0.pointer,
                    policySession,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE,
                    ESYS_TR_NONE
                )
            }
        } catch {
            flush(policySession)
            policySession = ESYS_TR_NONE
        }
    }

    /// Starts a session whose key is derived from a salt encrypted to the primary.
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
