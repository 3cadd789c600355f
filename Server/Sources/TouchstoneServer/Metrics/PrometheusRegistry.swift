public import CoreMetrics
internal import Synchronization

/// Collects the metrics of swift-metrics, and writes them in Prometheus's text format (version 0.0.4).
///
/// The names of counters end in `_total`, those of timers in `_seconds`, as Prometheus has it: where a library's do not, that
/// is added. Timers become histograms in seconds with the bounds ``buckets``.
public final class PrometheusRegistry: MetricsFactory, Sendable {
    /// The upper bounds of a histogram, in seconds: most requests take 0.1 to 50 ms, passwords longer.
    static let buckets = [
        0.0001, 0.0002, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10,
    ]
    /// The maximum number of series (names with labels); further ones are not counted, so that memory stays bounded.
    static let mostSeries = 10_000

    struct Key: Hashable, Sendable, Comparable {
        let name: String
        let labels: [Label]

        struct Label: Hashable, Sendable {
            let name: String
            let value: String
        }

        static func < (one: Key, other: Key) -> Bool {
            (one.name, one.labels.map { "\($0.name)=\($0.value)" }.joined(separator: ","))
                < (other.name, other.labels.map { "\($0.name)=\($0.value)" }.joined(separator: ","))
        }
    }

    private struct State {
        var counters: [Key: CounterCell] = [:]
        /// Counters that are counted elsewhere.
        var totals: [String: Double] = [:]
        var gauges: [Key: GaugeCell] = [:]
        var histograms: [Key: HistogramCell] = [:]
        var help: [String: String] = [:]
    }

    private let state = Mutex(State())

    /// Creates an empty registry.
    public init() {}

    /// Sets the `# HELP` text of a metric.
    func describe(_ name: String, _ help: String) { state.withLock { $0.help[name] = help } }

    /// Sets the value of a counter that is counted elsewhere; its name ends in `_total`.
    func total(_ name: String, _ value: Double) { state.withLock { $0.totals[name] = value } }

    // MARK: MetricsFactory

    /// Returns the counter for a label, creating it if necessary.
    public func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        let key = Self.key(label, dimensions, suffix: "_total")
        return state.withLock { state in
            if let cell = state.counters[key] { return cell }
            let cell = CounterCell()
            if state.counters.count < Self.mostSeries { state.counters[key] = cell }
            return cell
        }
    }

    /// Returns a gauge, or a histogram if the recorder aggregates.
    public func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        let key = Self.key(label, dimensions)
        return aggregate ? histogram(key) : gauge(key)
    }

    /// Returns a gauge.
    public func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        gauge(Self.key(label, dimensions))
    }

    /// Returns a histogram in seconds.
    public func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(Self.key(label, dimensions, suffix: "_seconds"))
    }

    /// Handlers live as long as the registry.
    public func destroyCounter(_ handler: any CounterHandler) {}
    /// Handlers live as long as the registry.
    public func destroyRecorder(_ handler: any RecorderHandler) {}
    /// Handlers live as long as the registry.
    public func destroyMeter(_ handler: any MeterHandler) {}
    /// Handlers live as long as the registry.
    public func destroyTimer(_ handler: any TimerHandler) {}

    private func gauge(_ key: Key) -> GaugeCell {
        state.withLock { state in
            if let cell = state.gauges[key] { return cell }
            let cell = GaugeCell()
            if state.gauges.count < Self.mostSeries { state.gauges[key] = cell }
            return cell
        }
    }

    private func histogram(_ key: Key) -> HistogramCell {
        state.withLock { state in
            if let cell = state.histograms[key] { return cell }
            let cell = HistogramCell()
            if state.histograms.count < Self.mostSeries { state.histograms[key] = cell }
            return cell
        }
    }

    private static func key(
        _ label: String,
        _ dimensions: [(String, String)],
        suffix: String = ""
    ) -> Key {
        let name = name(label)
        return Key(
            name: name.hasSuffix(suffix) ? name : name + suffix,
            labels: dimensions.map { Key.Label(name: Self.name($0.0), value: $0.1) }
        )
    }

    /// Replaces all but letters and digits by `_`; other libraries use dots.
    private static func name(_ text: String) -> String {
        let name = String(text.map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "_" })
        return name.first?.isNumber == true ? "_\(name)" : name
    }

    // MARK: Text

    /// The text of all metrics: counters, gauges and histograms, each in the order of their names.
    public func text() -> String {
        let (counters, totals, gauges, histograms, help) = state.withLock {
            ($0.counters, $0.totals, $0.gauges, $0.histograms, $0.help)
        }
        var lines: [String] = []
        var last = ""
        func head(_ name: String, _ type: String) {
            guard name != last else { return }
            last = name
            lines.append("# HELP \(name) \(help[name] ?? "A library's \(type).")")
            lines.append("# TYPE \(name) \(type)")
        }
        for (key, cell) in counters.sorted(by: { $0.key < $1.key }) {
            head(key.name, "counter")
            lines.append("\(key.name)\(Self.labels(key.labels)) \(cell.value)")
        }
        for (name, value) in totals.sorted(by: { $0.key < $1.key }) {
            head(name, "counter")
            lines.append("\(name) \(Self.number(value))")
        }
        for (key, cell) in gauges.sorted(by: { $0.key < $1.key }) {
            head(key.name, "gauge")
            lines.append("\(key.name)\(Self.labels(key.labels)) \(Self.number(cell.value))")
        }
        for (key, cell) in histograms.sorted(by: { $0.key < $1.key }) {
            head(key.name, "histogram")
            let (counts, sum) = cell.values
            var total = 0
            for (index, count) in counts.enumerated() {
                total += count
                let bound = index < Self.buckets.count ? Self.number(Self.buckets[index]) : "+Inf"
                let labels = key.labels + [Key.Label(name: "le", value: bound)]
                lines.append("\(key.name)_bucket\(Self.labels(labels)) \(total)")
            }
            lines.append("\(key.name)_sum\(Self.labels(key.labels)) \(Self.number(sum))")
            lines.append("\(key.name)_count\(Self.labels(key.labels)) \(total)")
        }
        return lines.map { "\($0)\n" }.joined()
    }

    private static func labels(_ labels: [Key.Label]) -> String {
        guard !labels.isEmpty else { return "" }
        let texts = labels.map { label in
            let value = label.value.replacing(#"\"#, with: #"\\"#).replacing("\"", with: #"\""#)
                .replacing("\n", with: #"\n"#)
            return "\(label.name)=\"\(value)\""
        }
        return "{\(texts.joined(separator: ","))}"
    }

    private static func number(_ value: Double) -> String {
        value == value.rounded() && abs(value) < 1e15 ? "\(Int64(value))" : "\(value)"
    }
}
