/// The results of each listing in each situation: a call and its result, in the order of the calls.
///
/// Numbers are those of `LAError` and `OSStatus`, words the codes of `TouchstoneError`. After a boot and a lock `obstacle` says that
/// the passcode is due, and the calls ask for it. With another set of fingers only what takes the passcode goes on, until it was entered.
extension ListingTests {
    static let iosExpected: [Situation: String] = [
        .ready: """
        type 1, obstacle none, biometrics ok, owner ok, sign -25300, create 0, \
        sign ok, late -10
        """,
        .cold: """
        type 1, obstacle -8, biometrics ok, owner ok, sign ok, create 0, \
        sign ok, late -10
        """,
        .locked: """
        type 1, obstacle -8, biometrics ok, owner ok, sign ok, create 0, \
        sign ok, late -10
        """,
        .noReader: """
        type 0, obstacle -6, biometrics -6, owner ok, sign -25300, create -25293, \
        sign -25300, late -10
        """,
        .noFinger: """
        type 1, obstacle -7, biometrics -7, owner ok, sign -25300, create -25293, \
        sign -25300, late -10
        """,
        .deadKey: """
        type 1, obstacle -8, biometrics -8, owner ok, sign -25300, create 0, \
        sign ok, late -10
        """,
    ]

    static let owaspExpected: [Situation: String] = [
        .ready: """
        owner ok, store 0, read test_strong_password, delete 0
        """,
        .cold: """
        owner ok, store -25299, read test_strong_password, delete 0
        """,
        .locked: """
        owner ok, store -25299, read test_strong_password, delete 0
        """,
        .noReader: """
        owner ok, store -25293, read -25300, delete -25300
        """,
        .noFinger: """
        owner ok, store -25293, read -25300, delete -25300
        """,
        .deadKey: """
        owner ok, store 0, read test_strong_password, delete 0
        """,
    ]

    static let tokenExpected: [Situation: String] = [
        .ready: """
        there -25300, read -25300, save 0, there -25308, read new
        """,
        .cold: """
        there -25308, read old, save 0, there -25308, read new
        """,
        .locked: """
        there -25308, read old, save 0, there -25308, read new
        """,
        .noReader: """
        there -25300, read -6, save -25293, there -25300, read -6
        """,
        .noFinger: """
        there -25300, read -7, save -25293, there -25300, read -7
        """,
        .deadKey: """
        there -25300, read -8, save 0, there -25308, read -8
        """,
    ]

    static let androidExpected: [Situation: String] = [
        .ready: """
        strong ok, weak ok, credential ok, prompt ok, prompt ok, remove wasAbsent, \
        seal notFound, create ok, seal ok, open new, remove deleted, remove wasAbsent
        """,
        .cold: """
        strong lockedOutUntilPasscode, weak lockedOutUntilPasscode, credential ok, open note, prompt ok, prompt ok, \
        remove deleted, seal notFound, create ok, seal ok, open new, remove deleted, \
        remove wasAbsent
        """,
        .locked: """
        strong lockedOutUntilPasscode, weak lockedOutUntilPasscode, credential ok, open note, prompt ok, prompt ok, \
        remove deleted, seal notFound, create ok, seal ok, open new, remove deleted, \
        remove wasAbsent
        """,
        .noReader: """
        strong noHardware, weak noHardware, credential ok, prompt noHardware, prompt ok, remove wasAbsent, \
        seal notFound, create noHardware, seal notFound, remove wasAbsent, remove wasAbsent
        """,
        .noFinger: """
        strong notEnrolled, weak notEnrolled, credential ok, prompt notEnrolled, prompt ok, remove wasAbsent, \
        seal notFound, create notEnrolled, seal notFound, remove wasAbsent, remove wasAbsent
        """,
        .deadKey: """
        strong lockedOutUntilPasscode, weak lockedOutUntilPasscode, credential ok, open invalidated, prompt lockedOutUntilPasscode, prompt ok, \
        remove deleted, seal notFound, create ok, seal ok, open new, remove deleted, \
        remove wasAbsent
        """,
    ]

    static let storageExpected: [Situation: String] = [
        .ready: """
        can ok, read notFound, write ok, read new, delete deleted, read notFound, \
        delete wasAbsent
        """,
        .cold: """
        can lockedOutUntilPasscode, read old, write ok, read new, delete deleted, read notFound, \
        delete wasAbsent
        """,
        .locked: """
        can lockedOutUntilPasscode, read old, write ok, read new, delete deleted, read notFound, \
        delete wasAbsent
        """,
        .noReader: """
        can noHardware, read notFound, write noHardware, read notFound, delete wasAbsent, read notFound, \
        delete wasAbsent
        """,
        .noFinger: """
        can notEnrolled, read notFound, write notEnrolled, read notFound, delete wasAbsent, read notFound, \
        delete wasAbsent
        """,
        .deadKey: """
        can lockedOutUntilPasscode, read invalidated, write invalidated, read invalidated, delete deleted, read notFound, \
        delete wasAbsent
        """,
    ]
}
