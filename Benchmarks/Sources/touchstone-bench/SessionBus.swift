import TouchstoneTesting

/// A private session bus that does not activate services, and a home directory for its programs.
struct SessionBus {
    /// The home, data and runtime directory of the bus's programs.
    let directory: TemporaryDirectory
    /// The environment of the bus's programs.
    let environment: [String: String]
    private let daemon: ChildProcess

    /// Starts the bus.
    ///
    /// - Parameter more: additions to the environment.
    /// - Returns: the running bus.
    /// - Throws: an error when there is no dbus-daemon, or no directory can be created.
    static func start(_ more: [String: String] = [:]) async throws -> SessionBus {
        let directory = try TemporaryDirectory()
        let address = "unix:path=\(directory.appending("bus"))"
        let configuration = try directory.write(configuration(address), to: "bus.conf")
        let environment = [
            "HOME": directory.path, "XDG_DATA_HOME": directory.appending("share"),
            "XDG_CONFIG_HOME": directory.path, "XDG_RUNTIME_DIR": directory.path,
            "XDG_CACHE_HOME": directory.path,
            "DBUS_SESSION_BUS_ADDRESS": address, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8",
        ].merging(more) { $1 }
        let daemon = try await ChildProcess.start(
            "/usr/bin/dbus-daemon",
            ["--config-file=\(configuration)", "--nofork", "--nopidfile", "--nosyslog"],
            environment: environment,
            log: directory.appending("bus.log")
        )
        return SessionBus(directory: directory, environment: environment, daemon: daemon)
    }

    func stop() { daemon.stop() }

    /// Waits until a service answers a call without arguments.
    ///
    /// - Parameters:
    ///   - service: the bus name, the object and the method, as in dbus-send(1).
    ///   - limit: the maximum time to wait.
    /// - Throws: an error when it does not answer in time.
    func wait(
        for service: (name: String, object: String, method: String),
        atMost limit: Duration
    ) async throws {
        let probe = CommandRun(
            path: "/usr/bin/dbus-send",
            arguments: [
                "--session", "--print-reply", "--dest=\(service.name)", service.object, service.method,
            ],
            environment: environment,
            isQuiet: true
        )
        try await Deadline.wait(for: service.name, atMost: limit) { try? probe.run() }
    }

    /// Runs a client that writes its measurements, one per line, into the file that is its last argument.
    ///
    /// - Parameters:
    ///   - client: its path.
    ///   - arguments: the arguments before the file.
    ///   - count: the expected number of lines.
    /// - Returns: the times.
    /// - Throws: ``BenchError`` when it fails or the number differs.
    func times(of client: String, _ arguments: [String], count: Int) throws -> [Nanoseconds] {
        let file = directory.appending("times")
        try CommandRun(path: client, arguments: arguments + [file], environment: environment).run()
        let times = try TextFile.read(file).split(separator: "\n").compactMap { Nanoseconds($0) }
        guard times.count == count else { throw BenchError("\(client) gave no times") }
        return times
    }

    private static func configuration(_ address: String) -> String {
        """
        <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
         "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
        <busconfig>
          <type>session</type>
          <listen>\(address)</listen>
          <auth>EXTERNAL</auth>
          <policy context="default">
            <allow user="*"/>
            <allow send_destination="*"/>
            <allow receive_sender="*"/>
            <allow own="*"/>
          </policy>
          <limit name="max_match_rules_per_connection">100000</limit>
          <limit name="max_replies_per_connection">100000</limit>
        </busconfig>
        """
    }
}
