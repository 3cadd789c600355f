public import KeychainModel

extension KeychainError {
    /// Translates the driver's errors to those that callers act on; the only place that does.
    public init(_ error: TPMError) {
        switch error {
        case .response(let code): self.init(code)
        case .lockedOut(_, let seconds):
            self.init(.notAvailable, cause: .chipLockout, remedy: .wait(seconds: seconds))
        case .otherHardware: self.init(.decode, cause: .otherHardware, remedy: .recover)
        case .invalidated: self.init(.itemNotFound, cause: .invalidated)
        case .restarted: self.init(.itemNotFound, cause: .restarted, remedy: .usePasscode)
        case .damaged: self.init(.decode, cause: .damaged, remedy: .recover)
        case .missingIndex: self.init(.decode, cause: .missingIndex, remedy: .recover)
        case .ownerAuthorizationSet:
            self.init(.notAvailable, cause: .ownerAuthorizationSet, remedy: .check)
        case .lockoutAuthorizationSet: self.init(.duplicateItem, cause: .lockoutAuthorizationSet)
        case .unnoted(let error): self = error
        case .unknownTransport: self.init(.param, cause: .unknownTransport, remedy: .check)
        }
    }

    private init(_ code: ResponseCode) {
        if code.rawValue == ResponseCode.silence {
            self.init(.notAvailable, cause: .silentHardware, remedy: .check)
            return
        }
        if code.isMissingAnswer || code.tpmError == ResponseCode.failure {
            // The chip, or its connection, has failed: for the user the same; the log has the code.
            let cause = DriverCause(.silentHardware, detail: code.description)
            self.init(.notAvailable, cause: cause, remedy: .check)
            return
        }
        let cause = DriverCause(domain: "tpm", code: code.description)
        switch code.tpmError {
        case ResponseCode.authFail, ResponseCode.badAuth: self.init(.authFailed, cause: cause)
        case ResponseCode.authUnavailable: self.init(.authFailed, cause: .exhausted, remedy: .recover)
        case ResponseCode.policy, ResponseCode.policyFail: self.init(.authFailed, cause: cause)
        case ResponseCode.integrity: self.init(.decode, cause: cause, remedy: .recover)
        case ResponseCode.nvSpace: self.init(.diskFull, cause: cause, remedy: .check)
        case let error? where ResponseCode.again.contains(error):
            self.init(.notAvailable, cause: cause, remedy: .retry)
        case .some: self.init(.internalComponent, cause: cause)
        case nil: self.init(.notAvailable, cause: cause, remedy: .check)
        }
    }
}

extension DriverCause {
    /// The machine was restarted since the secret was stored.
    public static let restarted = DriverCause(domain: "tpm", code: "restarted")
    /// The lockout authorisation is set already; a wrong guess would lock it.
    public static let lockoutAuthorizationSet = DriverCause(
        domain: "tpm",
        code: "lockout authorization is set"
    )
    /// The configuration names a transport that the driver does not use.
    public static let unknownTransport = DriverCause(domain: "tpm", code: "unknown transport")
}
