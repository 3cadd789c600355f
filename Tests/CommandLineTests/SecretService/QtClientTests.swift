import Foundation
import Glibc
import KeychainModel
import MessageBus
import ScriptedDaemon
import Testing
import TouchstoneTesting

private let compiler = "/usr/bin/g++"
private let header = "/usr/include/qt5keychain/keychain.h"

/// QtKeychain as it is, by which Nextcloud's client and other programs in Qt keep passwords; its back end here is libsecret.
@Suite(
    "QtKeychain at the Secret Service",
    .enabled(
        if: SecretServiceWorld.isPossible,
        "touchstone-secrets, its daemon and dbus-daemon are not all there"
    ),
    .enabled(
        if: Programs.isBuilt(compiler) && Programs.isBuilt("/usr/bin/pkg-config")
            && FileManager.default.fileExists(atPath: header),
        "g++, pkg-config, qtbase5-dev and qtkeychain-qt5-dev are not all installed"
    ),
    .timeLimit(.minutes(10))
)
struct QtClientTests {
    /// `EntryNotFound` and `AccessDenied` of `QKeychain::Error`.
    private static let (missing, denied) = ("error 1", "error 4")

    /// Compiles the program; its path.
    private func compile(in world: SecretServiceWorld) async throws -> String {
        let home = world.keychain.home
        try QtClient.source.write(toFile: home.path + "/client.cpp", atomically: true, encoding: .utf8)
        let command = """
            exec g++ -std=c++17 -fPIC -o "$0/client" "$0/client.cpp" $(pkg-config --cflags --libs Qt5Core) -lqt5keychain
            """
        var run = CommandRun("-c", command, home.path, home: home)
        run.program = "/bin/sh"
        let result = try await run.run()
        guard result.status == 0 else { throw TestKitError.unexpected(result.errors) }
        return home.path + "/client"
    }

    /// Runs the program; a line for each deed.
    private func does(_ deeds: [String], by program: String, in world: SecretServiceWorld) async throws
        -> [String]
    {
        let result = try await world.run(program, all: deeds, variables: ["QT_QPA_PLATFORM": "offscreen"])
        guard result.status == 0 else { throw TestKitError.unexpected("\(result)") }
        return result.text.split(separator: "\n").map(String.init)
    }

    // MARK: Beside GNOME Keyring

    private static let deeds = [
        "write svc bob one", "read svc bob", "read svc nobody", "write svc bob two", "read svc bob",
        "write-data svc bin 00ff0a", "read-data svc bin", "delete svc nobody", "write svc gone x",
        "delete svc gone", "read svc gone",
    ]
    /// After a third cancelled box in a row the door would show none for a minute.
    private static let lockedDeeds = ["delete svc bob", "write svc bob three"]

    /// What the deeds give, and then what is there; at last in a locked collection that nobody unlocks.
    private func outcomes(in world: SecretServiceWorld, by program: String) async throws
        -> [(name: String, outcome: String)]
    {
        var outcomes: [(name: String, outcome: String)] = []
        for deed in Self.deeds {
            outcomes.append((deed, try await does([deed], by: program, in: world).joined()))
        }
        let client = try await world.client()
        var left: [String] = []
        for path in try await client.search(["server": "svc"]).unlocked {
            let attributes = try await client.property(path, SecretsPeer.item, "Attributes")?.textPairs ?? [:]
            let pairs = attributes.sorted(by: <).map { "\($0.key)=\($0.value)" }.joined(separator: " ")
            left.append("\(pairs): \(try await client.read(path))")
        }
        outcomes.append(("what is left", left.sorted().joined(separator: ", ")))
        try world.keychain.setCancels(true)
        #expect(try await client.lock([SecretServiceWorld.login]) == [SecretServiceWorld.login])
        for deed in Self.lockedDeeds {
            outcomes.append(("locked: " + deed, try await does([deed], by: program, in: world).joined()))
        }
        return outcomes
    }

    @Test(
        "write, read, overwrite and delete, texts and data, and in a locked collection nothing, as with GNOME Keyring",
        .enabled(if: Programs.isBuilt("/usr/bin/gnome-keyring-daemon"), "gnome-keyring is not installed")
    )
    func same() async throws {
        let world = try await SecretServiceWorld()
        let program = try await compile(in: world)
        let ours = try await outcomes(in: world, by: program)
        let theirs = try await SecretServiceWorld.beside { try await outcomes(in: $0, by: program) }
        for (ours, theirs) in zip(ours, theirs) where ours != theirs {
            print("differs: \(ours.name): GNOME Keyring \(theirs.outcome), Touchstone \(ours.outcome)")
        }
        #expect(ours.map(\.name) == theirs.map(\.name))
        func told(_ all: [(name: String, outcome: String)], locked: Bool) -> [String] {
            all.filter { $0.name.hasPrefix("locked: write") == locked }.map(\.outcome)
        }
        #expect(told(ours, locked: false) == told(theirs, locked: false))
        #expect(told(ours, locked: true) == told(theirs, locked: true))
        let (missing, denied) = (Self.missing, Self.denied)
        #expect(
            theirs.map(\.outcome) == [
                "done", "one", missing, "done", "two", "done", "00ff0a", "done", "done", "done", missing,
                "server=svc type=base64 user=bin xdg:schema=org.qt.keychain: AP8K, "
                    + "server=svc type=plaintext user=bob xdg:schema=org.qt.keychain: two",
                // libsecret deletes what is unlocked, and says that it did.
                "done", denied,
            ]
        )

        // Who gives the passcode gets what was there.
        try world.keychain.setCancels(false)
        let before = world.keychain.boxes.count
        #expect(
            try await does(["read svc bob", "read svc new"], by: program, in: world) == ["two", missing]
        )
        #expect(world.keychain.boxes.count == before + 1)
    }

    // MARK: Before the first unlock

    @Test("before the first unlock what reads and writes asks once; deleting asks nothing, as libsecret does")
    func cold() async throws {
        let world = try await SecretServiceWorld()
        let program = try await compile(in: world)
        let missing = Self.missing
        #expect(try await does(["write svc bob one"], by: program, in: world) == ["done"])
        for (deeds, outcomes, boxes) in [
            (["read svc bob"], ["one"], 1), (["read svc nobody"], [missing], 1),
            (["write svc bob two", "read svc bob"], ["done", "two"], 1),
            (["write-data svc bin 00ff0a", "read-data svc bin"], ["done", "00ff0a"], 1),
            (["read-data svc bin"], ["00ff0a"], 1),
            (["delete svc bob"], ["done"], 0), (["read svc bob"], ["two"], 1),
            (["read svc bob", "delete svc bob", "read svc bob"], ["two", "done", missing], 1),
        ] {
            try await world.makeCold()
            let before = world.keychain.boxes.count
            #expect(try await does(deeds, by: program, in: world) == outcomes, "\(deeds)")
            #expect(world.keychain.boxes.count == before + boxes, "\(deeds)")
        }

        try await world.makeCold()
        try world.keychain.setCancels(true)
        #expect(try await does(["read-data svc bin"], by: program, in: world) == [missing])
        try world.keychain.setCancels(false)
        #expect(try await does(["read-data svc bin"], by: program, in: world) == ["00ff0a"])
    }

    @Test("a protected password is read with a gesture; cancelled it is not there")
    func protected() async throws {
        let world = try await SecretServiceWorld()
        let program = try await compile(in: world)
        #expect(try await does(["write svc bob one"], by: program, in: world) == ["done"])
        let made = try await world.touchstone(
            "protect",
            "--schema",
            "org.qt.keychain",
            "--require",
            "passcode"
        )
        #expect(made.status == 0 && made.errors.contains("1 secret requires passcode now."), "\(made.errors)")
        let before = world.keychain.boxes.count
        #expect(try await does(["read svc bob"], by: program, in: world) == ["one"])
        #expect(world.keychain.boxes.count == before + 1)
        #expect(try await does(["write svc bob two"], by: program, in: world) == ["done"])
        #expect(world.keychain.boxes.count == before + 1)
        try world.keychain.setCancels(true)
        #expect(try await does(["read svc bob"], by: program, in: world) == [Self.missing])
        try world.keychain.setCancels(false)
        #expect(try await does(["read svc bob"], by: program, in: world) == ["two"])
    }
}

/// A program for QtKeychain's jobs.
private enum QtClient {
    static let source = #"""
        #include <QCoreApplication>
        #include <QTextStream>
        #include <qt5keychain/keychain.h>

        // Runs a job to its end; a line that says how it ended.
        static QString end(QKeychain::Job &job)
        {
            QEventLoop loop;
            job.setAutoDelete(false);
            QObject::connect(&job, &QKeychain::Job::finished, &loop, &QEventLoop::quit);
            job.start();
            loop.exec();
            return job.error() == QKeychain::NoError ? QStringLiteral("done") : QStringLiteral("error %1").arg(job.error());
        }

        // Each argument is one deed, its words divided by spaces; each writes a line.
        int main(int count, char **words)
        {
            QCoreApplication application(count, words);
            QTextStream output(stdout);
            const QStringList deeds = application.arguments().mid(1);
            for (const QString &deed : deeds) {
                const QStringList parts = deed.split(' ');
                QString line;
                if (parts[0] == "write" || parts[0] == "write-data") {
                    QKeychain::WritePasswordJob job(parts[1]);
                    job.setKey(parts[2]);
                    if (parts[0] == "write") job.setTextData(parts[3]);
                    else job.setBinaryData(QByteArray::fromHex(parts[3].toUtf8()));
                    line = end(job);
                } else if (parts[0] == "read" || parts[0] == "read-data") {
                    QKeychain::ReadPasswordJob job(parts[1]);
                    job.setKey(parts[2]);
                    line = end(job);
                    if (line == "done") line = parts[0] == "read" ? job.textData() : QString(job.binaryData().toHex());
                } else {
                    QKeychain::DeletePasswordJob job(parts[1]);
                    job.setKey(parts[2]);
                    line = end(job);
                }
                output << line << '\n';
            }
        }
        """#
}
