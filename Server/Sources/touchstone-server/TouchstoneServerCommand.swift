internal import ArgumentParser
internal import Foundation
internal import Logging
internal import TouchstoneServer

/// `touchstone-server`: serves, checks its configuration, migrates its database.
@main
struct TouchstoneServerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone-server",
        abstract: "Signs users in by password, passkey and device key, and verifies device attestation.",
        discussion: """
            Without a configuration it serves http://localhost:8080, keeps its store in
            $STATE_DIRECTORY or $XDG_DATA_HOME/touchstone-server, and prints a one-time token
            for the first administrator.

            Settings are lines of "key = value" in a file, or variables of the environment:
            public-url is TOUCHSTONE_SERVER_PUBLIC_URL. The environment wins.

              listen, admin-listen       host:port of the API and of the admin port
              public-url                 the API's address as clients see it
              tls-certificate, tls-key   PEM files; without them a proxy must terminate TLS
              admin-tls                  on or off: the admin port with the same certificate
              trusted-proxies            addresses and networks (CIDR) of proxies that name the client
              client-address-header      where: x-forwarded-for, forwarded or x-real-ip
              data-directory, database   where keys and accounts are kept
              rp-id, rp-name             the relying party; the host of public-url by default
              origins, top-origins       pages and apps that may ask, compared byte for byte
              passkey-hints              on or off: options for a given name list its passkeys
              account-page               on or off: a page for the account at public-url
              page-language              its language for visitors who chose none: auto (their browser's),
                                         en, tr, zh or ja
              page-colour                the colour of its buttons: #rrggbb
              self-registration          on or off: people can make accounts for themselves
              cors-origins               other origins whose pages may call the API
              profile                    consumer, aal2 or aal3: how long sessions last
              access-token-lifetime, session-idle, session-lifetime, freshness,
              ceremony-lifetime          seconds
              device-key-lifetime        days for which the key of a device signs in; 0: without limit
              audit-retention            hours; 0: for ever
              audit-head-file            a file to which heads of the audit log are appended, with
                                         which verify-audit --head compares the log
              audit-head-interval        seconds between them
              passwords-per-minute, ceremonies-per-minute
                                         failures of one client address (IPv6: /64) by password and
                                         by passkey, beyond which only names without failures pass
              password-minimum, password-cost, password-workers, password-queue
              request-timeout            seconds in which a request must arrive completely
              shutdown-timeout           seconds for which SIGTERM waits for requests in progress
              device-attestation         any, hardware or policy
              require-assurance-login, require-assurance-step-up, require-assurance-transaction
                                         what an authentication must be worth: low, substantial or
                                         high, and facts that an attested device must state
              endorsement                none, roots, list or any: which TPMs are certified
              endorsement-revoked        revocation lists of TPMs' makers, a file or a directory
              boot-state                 none, record or list: what a TPM's machine was started with
              boot-states                a file of accepted digests of PCRs 0 to 7
              endorsement-roots, endorsement-list, attestation-roots
                                         directories of PEM files, a file of SHA-256
              service-secret-file        the secret that a service presents to introspect and to ask
              service-secret-directory   a directory with such a file for each further service; a file
                                         may have two secrets, in lines, while one is changed
              audience-directory         a directory with a file for each resource server that tokens are for:
                                         resource = https://…, scopes, services that introspect its
                                         tokens (default: the one of the file's name),
                                         access-token-lifetime; without it tokens are for the account alone
              mail-command               a program that gets each notice for a user, as JSON on its
                                         standard input, to send it as mail
              mail-webhook, mail-webhook-secret-file
                                         an address that gets them by POST instead, and the secret that
                                         signs them
              log-level                  trace, debug, info, notice, warning, error, critical
              log-format                 text, or json: one object per line
              access-log                 on or off: a message for each request

            Listening sockets of the service manager that are named http and admin
            (FileDescriptorName=) are used in the place of listen and admin-listen.

            SIGHUP reads the file, certificates, secrets and lists again; the log says what changed.

            Exit status: 0 done; 64 wrong usage; 65 verify-audit found that the audit log was
            changed, or import-users refused lines; 66 the file to import cannot be read; 69 the
            database is not there or not up to date;
            75 a shutdown closed connections whose requests did not end in shutdown-timeout;
            78 the configuration is wrong; 1 anything else.
            """,
        version: ServerVersion.text,
        subcommands: [
            Serve.self, CheckConfig.self, Migrate.self, VerifyAudit.self, ImportUsers.self, ShowVersion.self,
        ],
        defaultSubcommand: Serve.self
    )
}

/// The options of all commands.
struct ConfigurationOptions: ParsableArguments {
    @Option(
        name: .shortAndLong,
        help: ArgumentHelp(
            "The file with the settings; else TOUCHSTONE_SERVER_CONFIG, else \(ServerConfiguration.standardFile).",
            valueName: "file"
        )
    )
    var config: String?

    /// - Throws: `ExitCode`, after reporting the fault.
    func read() throws -> ServerConfiguration { try Failure.reported { try configuration() } }

    /// The settings of the file and of the environment.
    func configuration() throws(ConfigurationFault) -> ServerConfiguration {
        try ServerConfiguration.read(file: config, environment: ProcessInfo.processInfo.environment)
    }
}

/// How the program exits after a fault.
enum Failure {
    /// EX_CONFIG of sysexits.h.
    static let configuration = ExitCode(78)
    /// EX_DATAERR of sysexits.h.
    static let data = ExitCode(65)
    /// EX_NOINPUT of sysexits.h.
    static let noInput = ExitCode(66)
    /// EX_TEMPFAIL of sysexits.h.
    static let cut = ExitCode(75)
    /// EX_UNAVAILABLE of sysexits.h.
    static let unavailable = ExitCode(69)

    /// Reports an error on standard error.
    ///
    /// - Returns: the exit status.
    static func report(_ error: any Error) -> ExitCode {
        // It is in the log.
        if error is ShutdownCut { return cut }
        say("\(error)")
        return status(of: error)
    }

    /// Writes a message to standard error.
    static func say(_ text: String) {
        FileHandle.standardError.write(Data("touchstone-server: \(text)\n".utf8))
    }

    /// Reports an error of the running server, as a line of its log if that is for programs.
    ///
    /// - Returns: the exit status.
    static func report(_ error: any Error, _ format: LogFormat, _ logger: Logger) -> ExitCode {
        guard format == .json, !(error is ShutdownCut) else { return report(error) }
        logger.critical("\(error)")
        return status(of: error)
    }

    private static func status(of error: any Error) -> ExitCode {
        switch error {
        case is ConfigurationFault: return configuration
        case is AuditTampering: return data
        case is InputFault: return noInput
        case let error as StartError: return error.kind == .configuration ? configuration : unavailable
        default: return .failure
        }
    }

    /// Runs `body`, and reports its errors.
    static func reported<Value>(_ body: () throws -> Value) throws -> Value {
        do { return try body() } catch { throw report(error) }
    }
}
