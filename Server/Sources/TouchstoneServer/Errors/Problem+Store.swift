internal import AccountStore

extension Problem {
    /// Converts an error of the store to the client's error.
    init(_ error: StoreError) {
        switch error.code {
        case .unavailable, .overloaded, .full, .readOnly, .notMigrated:
            self = .overloaded("\(error)")
        case .notFound: self.init(.notFound)
        case .conflict(.usernameTaken): self.init(.usernameTaken)
        case .conflict(.credentialExists): self.init(.credentialExists)
        case .conflict(.tooManyCredentials):
            self.init(.forbidden, "the account has as many credentials as it may: remove one")
        case .conflict(.suspendedForOtherReason):
            self.init(.forbidden, "only an administrator restores it: its counter is not why it is suspended")
        case .conflict(.sessionEnded): self.init(.invalidToken)
        case .conflict(.passwordChanged): self = .authenticationFailed("password_changed")
        case .conflict(.accountExists), .conflict(.identifierTaken), .damaged, .newerSchema:
            self.init(.internalError)
            reason = "\(error)"
        }
    }
}
