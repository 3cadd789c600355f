/// How much is measured.
struct Scale {
    /// The numbers of items in the three stores; the middle one is where most is measured.
    let small, middle, large: Int
    /// Look-ups of each kind.
    let lookups: Int
    /// Adds, updates and deletes of each kind.
    let changes: Int
    /// Clients that add at the same time.
    let clients = 16
    /// Adds of each of them.
    let changesPerClient: Int
    /// Times that all items are read.
    let lists: Int
    /// Items that are added and looked up through Apple's functions.
    let bulk: Int
    /// Turns of everybody who uses a TPM.
    let chipRounds: Int
    /// Processes of each kind.
    let processes: Int
    /// Starts and unlocks of the daemon.
    let starts: Int
    /// Users of system mode beside the first.
    let otherUsers: Int
    /// Touches of the sensor.
    let touches: Int

    /// All that was promised.
    static let full = Scale(
        small: 100,
        middle: 10_000,
        large: 100_000,
        lookups: 4000,
        changes: 400,
        changesPerClient: 100,
        lists: 15,
        bulk: 1000,
        chipRounds: 20,
        processes: 100,
        starts: 15,
        otherUsers: 50,
        touches: 10
    )

    /// Enough to see that everything can be measured.
    static let smoke = Scale(
        small: 50,
        middle: 300,
        large: 900,
        lookups: 200,
        changes: 20,
        changesPerClient: 5,
        lists: 2,
        bulk: 20,
        chipRounds: 1,
        processes: 5,
        starts: 2,
        otherUsers: 2,
        touches: 2
    )
}
