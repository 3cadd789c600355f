/// The amount of measurements.
struct Scale {
    /// The numbers of items in the three stores; most is measured in the middle one.
    let small, middle, large: Int
    /// Look-ups of each kind.
    let lookups: Int
    /// Adds, updates and deletes of each kind.
    let changes: Int
    /// Clients that add concurrently.
    let clients = 16
    /// Adds of each of these clients.
    let changesPerClient: Int
    /// Lists of all items.
    let lists: Int
    /// Items added and looked up through Apple's functions.
    let bulk: Int
    /// Rounds of each implementation that uses a TPM.
    let chipRounds: Int
    /// Processes of each kind.
    let processes: Int
    /// Starts and unlocks of the daemon.
    let starts: Int
    /// Users of system mode besides the first.
    let otherUsers: Int
    /// Touches of the sensor.
    let touches: Int

    /// Everything that the bounds need.
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

    /// Enough to check that everything can be measured.
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
