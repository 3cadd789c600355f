extension Credential {
    /// The maximum number of bytes of a label.
    package static let mostLabelBytes = 128

    /// A label that is not among others: as it is, or with the lowest number from 2 on, such as `Phone 2`.
    package static func distinct(_ label: String, among others: some Sequence<String>) -> String {
        let taken = Set(others)
        guard taken.contains(label) else { return label }
        for number in 2...(taken.count + 1) {
            let suffix = " \(number)"
            var stem = label
            while stem.utf8.count + suffix.utf8.count > mostLabelBytes { stem.removeLast() }
            if !taken.contains(stem + suffix) { return stem + suffix }
        }
        // Not reached: there are more numbers than labels.
        return label
    }
}
