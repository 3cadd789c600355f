import KeychainModel

extension SensorTable {
    /// What is known of libfprint's drivers.
    ///
    /// fprintd reports a sensor's name only, neither driver nor USB id: the names are those that libfprint 1.94 gives to all sensors of
    /// a driver (`FpDeviceClass.full_name`), and the comments its drivers' names with the vendors of their USB ids. Names that a vendor's
    /// own driver has, and those of later versions, are not here: such a sensor is ungraded.
    static let known = SensorTable(onChip.merging(images) { $1 })

    /// Sensors that compare fingers themselves and are made for Windows Hello, which demands that a false finger is accepted at most
    /// twice in 100,000 attempts (Microsoft, "Windows Hello biometrics in the enterprise", fingerprint sensor requirements).
    ///
    /// How well a finger is told from another one is all that the grade says: not that the sensor cannot be replaced, nor its messages.
    private static let onChip = facts(
        .strong,
        matchesOnChip: true,
        [
            "Elan MOC Sensors",  // elanmoc, 04f3
            "Egis Technology (LighTuning) Match-on-Chip",  // egismoc, 1c7a
            "FPC MOC Fingerprint Sensor",  // fpcmoc, 10a5
            "Focaltech MOC Sensors",  // focaltech_moc, 2808
            "Goodix MOC Fingerprint Sensor",  // goodixmoc, 27c6
            "Realtek MOC Fingerprint Sensor",  // realtek, 0bda
            "Synaptics Sensors",  // synaptics, 06cb
        ]
    )

    /// Sensors that only take images (`FpImageDevice`): libfprint compares them in the computer, with a matcher (NBIS, bozorth3) and a
    /// threshold for which no rate of false matches on these small images is published.
    ///
    /// UPEK TouchStrip compares fingers itself, but for it none is published either.
    private static let images = facts(
        .weak,
        [
            "AuthenTec AES1610", "AuthenTec AES1660", "AuthenTec AES2501", "AuthenTec AES2550/AES2810",
            "AuthenTec AES2660", "AuthenTec AES3500", "AuthenTec AES4000",  // aes…, 08ff
            "Digital Persona U.are.U 4000/4000B/4500",  // uru4000, 045e and 05ba
            "Egis Technology Inc. (aka. LighTuning) 0570",  // egis0570, 1c7a
            "EgisTec ES603",  // etes603, 1c7a
            "ElanTech Embedded Fingerprint Sensor",  // elanspi
            "ElanTech Fingerprint Sensor",  // elan, 04f3
            "NextBiometrics NB-1010-U",  // nb1010, 298d
            "UPEK TouchChip/Eikon Touch 300",  // upektc, 0483 and 147e
            "UPEK TouchStrip Sensor-Only",  // upeksonly, 147e
            "Upek TouchChip Fingerprint Coprocessor",  // upektc_img, 147e
            "Validity VFS0050", "Validity VFS101", "Validity VFS301", "Validity VFS5011",
            "Validity VFS7552",  // vfs…, 138a
            "Veridicom 5thSense",  // vcom5s, 061a
        ]
    ).merging(facts(.weak, matchesOnChip: true, ["UPEK TouchStrip"])) { $1 }  // upekts, 0483

    private static func facts(
        _ grade: SensorFacts.Grade,
        matchesOnChip: Bool = false,
        _ names: [String]
    ) -> [String: SensorFacts] {
        let facts = SensorFacts(grade: grade, gradedBy: .driver, matchesOnChip: matchesOnChip)
        return Dictionary(names.map { ($0, facts) }) { $1 }
    }
}
