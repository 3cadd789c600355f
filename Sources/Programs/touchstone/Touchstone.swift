import ArgumentParser
import Glibc
import KeychainModel

/// The command line: secrets behind a finger or the passcode.
///
/// Rules: a secret is never an argument and is never printed unless requested; one `error:` line and one `hint:` line
/// on standard error; the exit status tells the kind of failure (`ExitCode.swift`); messages for users go to standard
/// error where standard output carries data.
@main
struct Touchstone: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "touchstone",
        abstract: "Keep secrets behind a finger or a passcode.",
        discussion: """
            The secrets belong to this user on this machine. A daemon, touchstoned, holds the keys; it starts by \
            itself. Begin with: touchstone setup

            Exit status: 0 done, 1 failed, 3 not found, 4 cancelled, 5 authentication failed, 6 locked out, \
            7 not available, 8 a prompt is needed and cannot be shown, 9 damaged, 10 exists already, 64 usage.
            """,
        version: ProductVersion.text,
        groupedSubcommands: [
            CommandGroup(
                name: "Secrets",
                subcommands: [
                    SetCommand.self, GetCommand.self, TOTPCommand.self, GenerateCommand.self,
                    EditCommand.self,
                    RunCommand.self,
                    InjectCommand.self, ListCommand.self, FindCommand.self,
                    ShowCommand.self, CopyCommand.self, RenameCommand.self, RequireCommand.self,
                    DeleteCommand.self, HistoryCommand.self, UndoCommand.self, ImportCommand.self,
                    ExportCommand.self,
                ]
            ),
            CommandGroup(
                name: "Keychain",
                subcommands: [
                    SetupCommand.self, UnlockCommand.self, LockCommand.self, PasscodeCommand.self,
                    RecoverCommand.self, RecoveryCommand.self, BackupCommand.self, StartOverCommand.self,
                    MigrateCommand.self,
                    AttestCommand.self,
                    SystemCommand.self,
                    TheftProtectionCommand.self,
                    AppsCommand.self, StatusCommand.self, DoctorCommand.self, RepairCommand.self,
                    LogCommand.self,
                ]
            ),
            CommandGroup(
                name: "For other programs",
                subcommands: [
                    SecretsCommand.self, ProtectSecretsCommand.self, UnprotectSecretsCommand.self,
                    LeaseCommand.self,
                    KeyCommand.self,
                    GitSignCommand.self, PinentryCommand.self, AskpassCommand.self, GitCredentialCommand.self,
                    DockerCredentialCommand.self,
                ]
            ),
        ]
    )

    static func main() {
        guard CommandLine.argc > 0 else { Report.end(CommandError.noArguments) }
        StandardStreams.keepClosedOnes()
        StopKey.hold()
        ClipboardKeeper.runIfAsked(CommandLine.arguments)
        SessionLeader.runIfAsked(CommandLine.arguments)
        Completion.runIfAsked(CommandLine.arguments)
        TerminalAgent.startWhenNeeded()
        do {
            if let name = GetCommand.plainName(in: CommandLine.arguments) {
                return try GetCommand.write(SecretReference(name: name), show: false)
            }
            let arguments = ProgramName.arguments(of: CommandLine.arguments)
            if arguments == ["-V"] { return Output.print(ProductVersion.text) }
            try Usage.check(arguments)
            var command = try parseAsRoot(arguments)
            try command.run()
        } catch {
            Report.end(error)
        }
    }
}
